//! Lines that really run a command in bash, in forms that hide it from a reader of words.

use super::*;

/// Returns true if a line runs `rm -rf src`.
fn removes(line: &str) -> bool {
    let reading = runs(line, &Known { cwd: Some("/work"), ..Known::default() });
    reading.runs.iter().any(|run| {
        run.program() == Some("rm")
            && matches!(run.texts().as_slice(), [_, "-rf", "src"] | [_, "-rf", "src", ..])
    })
}

#[test]
fn a_command_is_found_wherever_bash_runs_it() {
    let missed: Vec<&str> = [
        // An index, and a number.
        "a[$(rm -rf src)]=1",
        "a[1+$(rm -rf src)]+=1",
        "echo $(( '$(rm -rf src)' ))",
        "(( '$(rm -rf src)' ))",
        "x='a[$(rm -rf src)]'; ((x))",
        "x='a[$(rm -rf src)]'; echo $((x + 1))",
        "x='a[`rm -rf src`]'; b[x]=1",
        "let 'a[$(rm -rf src)]=1'",
        "test -v 'a[$(rm -rf src)]'",
        "printf -v 'a[$(rm -rf src)]' x",
        // Variables that are known, or empty.
        "$SHELL -c 'rm -rf src'",
        "\"$BASH\" -c \"rm -rf src\"",
        "r$@m -rf src",
        "r$*m -rf src",
        "r$1m -rf src",
        "${u}rm -rf src",
        "r${u}m -rf src",
        "$SUDO rm -rf src",
        "${a} ${b}rm -rf src",
        // A text on its way to a shell.
        "xargs -I% bash -c % <<< 'rm -rf src'",
        ": | xargs rm -rf src",
        "xargs -n 1 rm -rf src <<< ''",
        "echo 'rm -rf src' | xargs -I{} sh -c {}",
        "printf 'ls\\nrm -rf src\\n' | xargs -I{} sh -c '{}'",
        "echo rm -rf src > >(bash)",
        "echo rm -rf src | tee >(sh) >/dev/null",
        "exec 4< <(echo rm -rf src); bash <&4",
        "exec 3> >(bash); echo rm -rf src >&3",
        "exec 5<<< 'rm -rf src'; sh <&5",
        "mkfifo p; bash p & echo rm -rf src > p",
        "bash --rcfile <(echo rm -rf src) -i",
        "bash --init-file <(echo rm -rf src) -i",
        "make -f <(printf 'a:\\n\\trm -rf src\\n')",
        "printf 'a:\\n\\trm -rf src\\n' > Makefile; make",
        // Patterns in the name of a program.
        "/bin/r? -rf src",
        "/bin/[r]m -rf src",
        "/usr/bin/?m -rf src",
        "/b*/rm* -rf src",
        "/bin/r*********m -rf src",
        // Programs that run a text.
        "sed '1e rm -rf src' README.md",
        "sed -n '/x/e rm -rf src' README.md",
        "ed <<< '!rm -rf src'",
        "vim -es f <<< ':!rm -rf src'",
        "printf '%s\\n' 'w !rm -rf src' | ed f",
        "man -P 'rm -rf src' ls",
        "perl -e 'exec qw(rm -rf src)'",
        "perl -e 'system qw/rm -rf src/'",
        // Variables that name a program.
        "PAGER='rm -rf src' git -p log",
        "GIT_SSH_COMMAND='rm -rf src;' git fetch ssh://x/y",
        "VISUAL='rm -rf src' crontab -e",
        "export PAGER='rm -rf src'; man ls",
        "env EDITOR='rm -rf src' git commit",
        // Wrappers, and a function with the name of a program.
        "setarch x86_64 rm -rf src",
        "setarch -R rm -rf src",
        "linux32 rm -rf src",
        "/lib64/ld-linux-x86-64.so.2 /bin/rm -rf src",
        "function /bin/ls { rm -rf src; }; /bin/ls",
    ]
    .into_iter()
    .filter(|line| !removes(line))
    .collect();
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Returns the lines that remove nothing.
fn missed<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    lines.iter().copied().filter(|line| !removes(line)).collect()
}

#[test]
fn a_text_that_the_shell_itself_runs_is_found() {
    let missed = missed(&[
        r#"/bin/["r"]m -rf src"#,
        "echo ${a[$(rm -rf src)]}",
        ": ${a[$(rm -rf src)]:=x}",
        "echo ${#a[$(rm -rf src)]}",
        "coproc { rm -rf src; }",
        "coproc X { rm -rf src; }",
        "coproc ( rm -rf src )",
        "coproc while :; do rm -rf src; done",
        "coproc rm -rf src",
        "[[ 'a[$(rm -rf src)]' -eq 1 ]]",
        "[[ -v 'a[$(rm -rf src)]' ]]",
        "x='a[$(rm -rf src)]'; [[ $x -eq 1 ]]",
        "x='a[$(rm -rf src)]'; declare -i y=x",
        "x='a[$(rm -rf src)]'; : ${z:x}",
        "x='a[$(rm -rf src)]'; let x",
        "x='$(rm -rf src)'; echo ${x@P}",
        "PS4='$(rm -rf src)'; set -x; ls",
        "PS1='$(rm -rf src)' bash -i <<< ls",
        "export PS0='$(rm -rf src)'",
        "mapfile -C 'rm -rf src #' -c 1 < README.md",
        "readarray -c1 -C 'eval rm -rf src;' a < README.md",
        "complete -C 'rm -rf src' ls",
        "compgen -C 'rm -rf src' x",
        r#"bind -x '"\C-x":rm -rf src'"#,
        "fc -e 'rm -rf src #' -1",
        "command_not_found_handle() { rm -rf src; }; nosuch",
        "eval -- rm -rf src",
        "time -p -- rm -rf src",
        "IFS=,; x=rm,-rf,src; $x",
        r#"IFS=, read -ra c <<< rm,-rf,src; "${c[@]}""#,
        "declare -n r=z; z=rm; $r -rf src",
        "declare -n r=z; r=rm; $z -rf src",
        "r${nope:+x}m -rf src",
        "/bin/@(rm) -rf src",
        "dd of=/tmp/c <<< 'rm -rf src'; sh /tmp/c",
        "sponge /tmp/c <<< 'rm -rf src'; sh /tmp/c",
        "echo cm0gLXJmIHNyYwo= | openssl base64 -d | sh",
        "echo cm0gLXJmIHNyYwo= | openssl enc -d -a | sh",
        "echo 'rm -rf src' | gzip | gunzip | sh",
        "yes 'rm -rf src' | head -1 | sh",
        "source /dev/fd/3 3<<< 'rm -rf src'",
        "bash /dev/fd/3 3<<< 'rm -rf src'",
        r#"echo 'rm -rf src' | xargs -d '\n' -n1 sh -c"#,
    ]);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn a_text_that_a_program_may_run_is_found() {
    let missed = missed(&[
        "eatmydata rm -rf src",
        "systemd-cat rm -rf src",
        "runcon -t x rm -rf src",
        "bwrap --bind / / rm -rf src",
        "retry rm -rf src",
        "xterm -e rm -rf src",
        "tmux new-session -d rm -rf src",
        "nix run nixpkgs#coreutils -- rm -rf src",
        "wsl rm -rf src",
        "env - rm -rf src",
        "aws-vault exec p -- rm -rf src",
        "gdb -ex run --args rm -rf src",
        "podman unshare rm -rf src",
        "PERL5OPT='-Mstrict;system(q(rm -rf src))' perl -v",
        r#"PERL5DB='BEGIN{system "rm -rf src"}' perl -d -e 1"#,
        "MAKEFLAGS='--eval=$(shell rm -rf src)' make",
        "FZF_DEFAULT_COMMAND='rm -rf src' fzf",
        "RUSTC_WRAPPER='rm -rf src' cargo build",
        "KUBE_EDITOR='rm -rf src #' kubectl edit deploy x",
        r#"PSQL_EDITOR='rm -rf src #' psql -c '\e'"#,
        "CC='rm -rf src #' make",
        "make CC='rm -rf src;'",
        "git config core.pager 'rm -rf src'; git log",
        "git clone --upload-pack 'rm -rf src' . /tmp/z",
        "git ls-remote --upload-pack='rm -rf src;' .",
        "git fetch --upload-pack='rm -rf src' origin",
        "git archive --exec='rm -rf src' --remote=. HEAD",
        "git grep -O'rm -rf src' fn",
        "git difftool -y -x 'rm -rf src #'",
        "git -c filter.a.clean='rm -rf src' add .",
        "git -c merge.tool=x -c mergetool.x.cmd='rm -rf src' mergetool",
        "go test -exec 'rm -rf src' ./...",
        "go build -toolexec 'rm -rf src' ./...",
        "split --filter='rm -rf src' README.md",
        "apt-get -o APT::Update::Pre-Invoke::='rm -rf src' update",
        "mvn exec:exec -Dexec.executable=rm -Dexec.args='-rf src'",
        "sqlite3 x.db '.shell rm -rf src'",
        "perl -e 'qx{rm -rf src}'",
        r#"perl -e 'open F,"|rm -rf src"'"#,
        "ruby -e '%x(rm -rf src)'",
        r#"awk 'BEGIN{print|"rm -rf src"}'"#,
        r#"awk 'BEGIN{"rm -rf src"|getline}'"#,
        r#"python3 -c 'from subprocess import *; call("rm -rf src",shell=True)'"#,
        r#"python3 -c 'import os; os.posix_spawnp(p,["rm","-rf","src"],{})'"#,
        "bun -e 'await Bun.$`rm -rf src`'",
        r#"deno eval 'new Deno.Command("rm",{args:["-rf","src"]}).outputSync()'"#,
        r#"elixir -e 'System.cmd("rm", ["-rf","src"])'"#,
        r#"groovy -e '"rm -rf src".execute()'"#,
        "tclsh <<< 'exec rm -rf src'",
        "expect -c 'spawn rm -rf src; interact'",
        r#"emacs -Q --batch --eval '(shell-command "rm -rf src")'"#,
        r#"racket -e '(system "rm -rf src")'"#,
        r#"sbcl --eval '(uiop:run-program "rm -rf src")' --quit"#,
        r#"erl -noshell -eval 'os:cmd("rm -rf src"), halt().'"#,
        r#"clojure -e '(clojure.java.shell/sh "rm" "-rf" "src")'"#,
        r#"gdb -batch -ex 'call (int)system("rm -rf src")' -p 1"#,
        "npm pkg set scripts.pretest='rm -rf src' && npm test",
        "yash -c 'rm -rf src'",
    ]);
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn code_that_moves_or_links_is_a_command() {
    for (line, expected) in [
        ("python3 -c \"import shutil; shutil.move('vict', 'dist')\"", "mv vict dist"),
        ("python3 -c \"import os; os.rename('a', 'b')\"", "mv a b"),
        ("python3 -c \"import os; h = os.path.expanduser('~'); os.symlink(h, '/tmp/l')\"", "ln -s ~ /tmp/l"),
        ("node -e 'require(\"fs\").renameSync(\"a\", \"b\")'", "mv a b"),
        ("perl -e 'rename \"a\", \"b\"'", "mv a b"),
        ("ruby -e 'FileUtils.ln_s(\"a\", \"b\")'", "ln -s a b"),
    ] {
        let found = seen(line);
        assert!(found.iter().any(|it| it == expected), "{line}: {found:?}");
    }
    assert_eq!(seen("python3 -c \"x.rename(columns={'a': 'b'}); 'x'.replace('a', 'b')\"").len(), 1);
}

#[test]
fn a_bracket_is_a_pattern_only_as_a_set() {
    for (line, unread) in [
        ("[ -d .git ] && ls", vec![]),
        ("if [ -f x ]; then ls; fi", vec![]),
        ("x=[; $x -d . ]", vec![]),
        ("[r]m x", vec![Unread::Program]),
        ("[\"r\"]m x", vec![Unread::Program]),
    ] {
        assert_eq!(runs(line, &Known::default()).unread, unread, "{line}");
    }
}

#[test]
fn a_command_that_bash_does_not_run_is_none() {
    for line in [
        "a['rm -rf src']=1",
        "x='rm -rf src'; ((x))",
        "x='a[$(rm -rf src)]'; echo \"$x\"",
        "echo 'rm -rf src' > >(cat)",
        "sed 's/e rm -rf src/x/' f",
        "grep -e 'rm -rf src' f",
        "PAGER=cat git log",
        "X='rm -rf src' ls",
        "*** -rf src",
        "/* -rf src",
        "ed f <<< 'a rm -rf src'",
        "exec 4< <(echo rm -rf src); cat <&4",
        "bash p; echo rm -rf src > q",
        // It is read before it is written.
        "bash p; echo rm -rf src > p",
        "\"$u\" rm -rf src",
        // Words that are data, texts for people, and subcommands.
        "printf '%s' 'x = a[$(rm -rf src)]'",
        "git commit -m 'rm -rf src'",
        "git grep 'rm -rf src'",
        "git log -S 'rm -rf src'",
        "gh pr create --title x --body 'rm -rf src'",
        "jira issue create --body 'rm -rf src'",
        "rg 'rm -rf src' docs",
        "jq '.a = \"rm -rf src\"' x.json",
        "printf '%s' 'rm -rf src'",
        "man rm -rf src",
        "npm run rm -rf src",
        "make clean rm -rf src",
        "docker rm -rf src",
        "kubectl annotate pod x note='rm -rf src'",
        "shellcheck -s sh - <<< 'rm -rf src'",
        "notify-send 'rm -rf src' done",
        "python3 -c 'print(\"rm -rf src\")'",
        "python3 -c 'x = s.replace(\"rm -rf src\", \"\")'",
        "python3 -c 'assert \"rm -rf src\" in text'",
        "node -e 'console.log(\"rm -rf src\")'",
        "echo 'rm -rf src' | wc -l | cat",
    ] {
        assert!(!removes(line), "{line}");
    }
}
