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
    ] {
        assert!(!removes(line), "{line}");
    }
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
