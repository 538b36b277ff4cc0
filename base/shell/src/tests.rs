//! The commands that lines run.

use super::*;

#[cfg(target_os = "linux")]
mod beside_bash;
mod cost;
mod disguised;
mod generated;
mod options;
mod readings;

/// Returns the commands of a line, as their words.
fn seen(line: &str) -> Vec<String> {
    let reading = runs(line, &Known::default());
    reading.runs.iter().filter(|it| !it.words.is_empty()).map(|it| it.texts().join(" ")).collect()
}

#[test]
fn a_line_runs_these_commands() {
    for (line, expected) in [
        ("", vec![]),
        ("ls -la # rm x", vec!["ls -la"]),
        ("ls; rm x && a || b & c", vec!["ls", "rm x", "a", "b", "c"]),
        ("r\"\"m 'a b' \"c\"d \\e", vec!["rm a b cd e"]),
        ("$'r\\x6d' -rf $'a\\nb'", vec!["rm -rf a\nb"]),
        ("a=1 rm x", vec!["rm x"]),
        ("d=/srv/x; rm -rf $d \"$d/y\" ${d}z", vec!["rm -rf /srv/x /srv/x/y /srv/xz"]),
        ("c='rm -rf'; $c x", vec!["rm -rf x"]),
        ("$'rm\\0x' x", vec!["rm x"]),
        ("x=srmx; ${x:1:2} a; ${x/s/e}; ${x//x/} ${x^^} ${x^}", vec!["rm a", "ermx", "srm SRMX Srmx"]),
        ("x=rm; y=x; ${!y} a", vec!["rm a"]),
        ("rm {a,b}/c $HOME/{x,y}", vec!["rm a/c b/c ~/x ~/y"]),
        ("echo ${x:-a} ${x:=b} $x", vec!["echo a b b"]),
        ("rm ~/x \"~/x\"", vec!["rm ~/x ~/x"]),
        ("rm$IFS-rf${IFS}x", vec!["rm -rf x"]),
        // Substitutions.
        ("echo $(rm x) `rm y` \"$(rm z)\"", vec!["rm x", "rm y", "rm z", "echo "]),
        ("rm $(echo a b)", vec!["echo a b", "rm a b"]),
        ("rm a${x}b a$x/b", vec!["rm a${x}b a$x/b"]),
        ("$(which rm) x", vec!["which rm", "/usr/bin/rm x"]),
        ("cat <(rm x)", vec!["rm x", "cat /dev/fd/63"]),
        ("echo ${x:-$(rm y)}", vec!["rm y", "echo"]),
        ("d=$(mktemp -d); rm -rf \"$d\"", vec!["mktemp -d", "rm -rf /tmp/tmp.XXXXXXXXXX"]),
        ("d=$(mktemp -d -p .); rm -rf $d/../x", vec!["mktemp -d -p .", "rm -rf tmp.XXXXXXXXXX/../x"]),
        ("rm $(mktemp -d --tmpdir=/a)", vec!["mktemp -d --tmpdir=/a", "rm /a/tmp.XXXXXXXXXX"]),
        ("rm $(mktemp a.XXX)", vec!["mktemp a.XXX", "rm a.XXX"]),
        ("rm $(mktemp -d -t a.XXX)", vec!["mktemp -d -t a.XXX", "rm /tmp/a.XXX"]),
        ("rm $(mktemp -d /b/a.XXX)", vec!["mktemp -d /b/a.XXX", "rm /b/a.XXX"]),
        // Wrappers.
        ("sudo -u x env A=1 timeout -s 9 5 nice -n 5 rm x", vec!["rm x"]),
        ("env -S 'rm -rf' x", vec!["rm -rf x"]),
        (r"env -S 'rm\_-rf\_x'", vec!["rm -rf x"]),
        (r"env -S'A=1\_rm\_x'", vec!["rm x"]),
        (r#"env -S 'rm "a\_b" \\_c'"#, vec![r"rm a b \_c"]),
        ("sudo -- rm x", vec!["rm x"]),
        ("setpriv --reuid 0 --clear-groups prlimit --nofile=9 numactl -N 0 rm x", vec!["rm x"]),
        ("echo a > l; xargs -a l rm", vec!["echo a", "rm a"]),
        ("command -v rm", vec!["command -v rm"]),
        ("time -p rm x; ! rm y", vec!["rm x", "rm y"]),
        ("nohup rm x & disown", vec!["rm x", "disown"]),
        (
            "find . -name x -exec rm {} + -o -exec ls {} \\;",
            vec!["find . -name x -exec rm {} + -o -exec ls {} ;", "rm {}", "ls {}"],
        ),
        ("ls | xargs -0 -n 1 rm -f", vec!["ls", "rm -f {}"]),
        ("echo a b | xargs rm", vec!["echo a b", "rm a b"]),
        ("ls | xargs -I{} sh -c 'rm {}'", vec!["ls", "sh -c rm {}", "rm {}"]),
        ("parallel rm ::: a b", vec!["rm a", "rm b"]),
        ("watch -n 1 rm x", vec!["rm x"]),
        ("npx rimraf dist", vec!["rimraf dist"]),
        ("ssh -p 22 host rm -rf x", vec!["ssh -p 22 host rm -rf x", "rm -rf x"]),
        (
            "docker exec -it -u root c sh -c 'rm x'",
            vec!["docker exec -it -u root c sh -c rm x", "sh -c rm x", "rm x"],
        ),
        ("docker run --rm -v $PWD:/w alpine rm x", vec!["docker run --rm -v .:/w alpine rm x", "rm x"]),
        ("kubectl exec p -- rm x", vec!["kubectl exec p -- rm x", "rm x"]),
        ("su - x -c 'rm y'", vec!["rm y"]),
        // Shells.
        ("bash -lc 'cd x && rm y'", vec!["bash -lc cd x && rm y", "cd x", "rm y"]),
        ("sh -c 'rm \"$1\"' _ x", vec!["sh -c rm \"$1\" _ x", "rm x"]),
        ("eval 'rm' x", vec!["eval rm x", "rm x"]),
        ("bash <<'E'\nrm x\nE\nls", vec!["bash", "rm x", "ls"]),
        ("cat <<EO\nE\\\nO\nrm x\nEO", vec!["cat", "rm x", "EO"]),
        ("cat <<E\na\\\nE\nrm x\nE", vec!["cat"]),
        ("cat <<'E'\na\\\nE\nrm x", vec!["cat", "rm x"]),
        ("cat <<E | sh\nrm $HOME\nE", vec!["cat", "sh", "rm ~"]),
        ("bash <<< 'rm x'", vec!["bash", "rm x"]),
        ("bash <(echo rm x)", vec!["echo rm x", "bash /dev/fd/63", "rm x"]),
        ("echo rm x | sh", vec!["echo rm x", "sh", "rm x"]),
        ("echo rm x | y=$(sh)", vec!["echo rm x", "sh", "rm x"]),
        ("printf 'rm %s\\n' a b | sh", vec!["printf rm %s\\n a b", "sh", "rm a", "rm b"]),
        ("echo cm0geA== | base64 -d | sh", vec!["echo cm0geA==", "base64 -d", "sh", "rm x"]),
        ("trap 'rm x' EXIT", vec!["trap rm x EXIT", "rm x"]),
        // Files that the line writes.
        ("echo 'rm x' > a.sh; sh a.sh", vec!["echo rm x", "sh a.sh", "rm x"]),
        (
            "cat > a.sh <<'E'\nrm $1\nE\nchmod +x a.sh && ./a.sh y",
            vec!["cat", "chmod +x a.sh", "./a.sh y", "rm y"],
        ),
        ("tee a <<< 'rm x' >/dev/null; . ./a", vec!["tee a", ". ./a", "rm x"]),
        // Compound commands.
        ("if a; then rm x; elif b; then c; else d; fi", vec!["a", "rm x", "b", "c", "d"]),
        ("for f in a b; do rm $f; done", vec!["rm a", "rm b"]),
        ("while read f; do rm $f; done < l", vec!["read f", "rm $f"]),
        ("case $1 in a|b) rm x;; *) ls;; esac", vec!["rm x", "ls"]),
        ("(cd x; rm y); { rm z; }", vec!["cd x", "rm y", "rm z"]),
        ("f() { rm \"$1\"; }; f x", vec!["rm x"]),
        ("function f { rm x; }\nf", vec!["rm x"]),
        ("f() { rm x; }; ls", vec!["ls"]),
        ("alias d='rm -rf'; d x", vec!["alias d=rm -rf", "d x", "rm -rf x"]),
        ("declare -a c=([0]=rm [1]=x); ${c[*]}", vec!["declare -a", "rm x"]),
        ("hash -p /bin/rm ls; ls x", vec!["hash -p /bin/rm ls", "ls x", "/bin/rm x"]),
        ("gdb -batch -ex '!rm x'", vec!["rm x", "gdb -batch -ex !rm x"]),
        ("cargo run --config 'a.runner=\"rm x\"'", vec!["rm x", "cargo run --config a.runner=\"rm x\""]),
        ("read -ra a <<< 'rm -rf x'; \"${a[@]}\"", vec!["read -ra a", "rm -rf x"]),
        ("echo 'rm x' | parallel", vec!["echo rm x", "rm x"]),
        ("csh -c 'rm x'", vec!["csh -c rm x", "rm x"]),
        ("make --eval 'x:; @rm y'", vec!["make --eval x:; @rm y", "rm y"]),
        ("make --eval='a := $(shell rm x)'", vec!["make --eval=a := $(shell rm x)", "rm x"]),
        ("[[ -d $(rm x) ]] && (( $(rm y) ))", vec!["rm x", "rm y"]),
        ("for ((i=0; i<3; i++)); do rm x; done", vec!["rm x"]),
        ("set -- a b; for x; do rm $x; done", vec!["set -- a b", "rm a", "rm b"]),
        ("false || set -- 'rm a'; eval \"$1\"", vec!["false", "set -- rm a", "eval rm a", "rm a"]),
        ("a=(x y); rm \"${a[@]}\" ${a[1]}", vec!["rm x y y"]),
        ("declare -a a=(x y); rm \"${a[@]}\"", vec!["declare -a", "rm x y"]),
        ("mapfile -t a <<< 'rm x'; ${a[0]}", vec!["mapfile -t a", "rm x"]),
        (". /dev/stdin <<< 'rm x'", vec![". /dev/stdin", "rm x"]),
        ("BASH_ENV=<(echo rm x) bash -c ls", vec!["echo rm x", "bash -c ls", ". /dev/fd/63", "rm x", "ls"]),
        ("install -m 755 /dev/stdin a <<< 'rm x'; ./a", vec!["install -m 755 /dev/stdin a", "./a", "rm x"]),
        // Texts that only look like commands.
        ("echo 'rm -rf /'; git commit -m \"rm -rf /\"", vec!["echo rm -rf /", "git commit -m rm -rf /"]),
        ("cat > n.md <<'E'\nrm -rf /\nE", vec!["cat"]),
        ("git commit -m \"$(cat <<'E'\nrm -rf /\nE\n)\"", vec!["cat", "git commit -m rm -rf /"]),
    ] {
        assert_eq!(seen(line), expected, "{line}");
    }
}

#[test]
fn code_is_read_for_the_scripts_and_removals_in_it() {
    for (line, expected) in [
        ("python3 -c \"import os; os.system('rm -rf x')\"", "rm -rf x"),
        ("python3 -c \"import os; os.system('rm ' + '-rf ' + 'x')\"", "rm -rf x"),
        ("python3 -c \"c = 'rm -rf x'; import os; os.system(c)\"", "rm -rf x"),
        ("python3 -c \"c = ['rm', '-rf', 'x']; subprocess.run(c)\"", "rm -rf x"),
        ("python3 -c \"import os; os.system('rm -rf ' + d)\"", "rm -rf $d"),
        ("python3 -c \"subprocess.run(['rm', '-rf', d])\"", "rm -rf $d"),
        ("python3 -c \"d = 'dist'; subprocess.run(['rm', '-rf', d])\"", "rm -rf dist"),
        ("perl -e '$c = \"rm -rf x\"; system($c)'", "rm -rf x"),
        ("perl -e 'system(\"rm -rf \" . \"x\")'", "rm -rf x"),
        ("php -r 'exec(\"rm -rf \".getenv(\"X\"));'", "rm -rf $…"),
        ("gawk 'BEGIN { print \"rm -rf x\" | \"sh\" }'", "rm -rf x"),
        ("python3 -c \"getattr(__import__('os'), 'sys' + 'tem')('rm -rf x')\"", "rm -rf x"),
        ("awk 'BEGIN { c = \"rm -rf x\"; system(c) }'", "rm -rf x"),
        ("awk 'BEGIN { system(\"rm -rf \" \"x\") }'", "rm -rf x"),
        ("node -e \"const c = 'rm -rf x'; require('child_process').execSync(c)\"", "rm -rf x"),
        ("python -c \"import subprocess as s; s.check_call(['rm', '-rf', 'x'])\"", "rm -rf x"),
        ("python3 -c 'import shutil; shutil.rmtree(\"/srv/x\")'", "rm -rf /srv/x"),
        ("python3 <<'E'\nimport shutil\np = '/srv/x'\nshutil.rmtree(p)\nE", "rm -rf /srv/x"),
        ("python3 -c 'import os; os.remove(os.path.expanduser(\"~/x\"))'", "rm -f ~/x"),
        ("python3 -c 'from pathlib import Path; Path(\"x\").unlink()'", "rm -f x"),
        ("node -e \"require('child_process').execSync('rm -rf x')\"", "rm -rf x"),
        ("node -e \"fs.rmSync('/srv/x', {recursive: true, force: true})\"", "rm -rf /srv/x"),
        ("node -e \"spawnSync('rm', ['-rf', 'x'])\"", "rm -rf x"),
        ("perl -e 'system(\"rm -rf x\")'", "rm -rf x"),
        ("perl -e 'unlink \"x\"'", "rm -f x"),
        ("ruby -e '`rm -rf x`'", "rm -rf x"),
        ("ruby -rfileutils -e 'FileUtils.rm_rf(\"x\")'", "rm -rf x"),
        ("php -r 'shell_exec(\"rm -rf x\");'", "rm -rf x"),
        ("awk 'BEGIN { system(\"rm -rf x\") }'", "rm -rf x"),
        ("cat > a.py <<'E'\nimport os\nos.system('rm -rf x')\nE\npython3 a.py", "rm -rf x"),
    ] {
        let found = seen(line);
        assert!(found.iter().any(|it| it == expected), "{line}: {found:?}");
    }
}

#[test]
fn a_command_knows_its_directory_and_place() {
    let directory = |line: &str| {
        let known = Known { cwd: Some("/w/p"), home: Some("/home/me"), ..Known::default() };
        runs(line, &known).runs.into_iter().rfind(|it| it.program() == Some("rm")).unwrap()
    };
    for (line, expected) in [
        ("rm x", Some("/w/p")),
        ("cd a/../b && rm x", Some("/w/p/b")),
        ("cd .. ; rm x", Some("/w")),
        ("cd; rm x", Some("/home/me")),
        ("(cd a); rm x", Some("/w/p")),
        ("cd \"$X\" && rm x", None),
        ("cd $(mktemp -d) && rm x", Some("/tmp/tmp.XXXXXXXXXX")),
        ("cd a && cd - && rm x", Some("/w/p")),
        ("cd a || exit; rm x", Some("/w/p/a")),
        ("command cd a && rm x", Some("/w/p/a")),
        ("time builtin cd a; rm x", Some("/w/p/a")),
        ("if a; then cd b; fi; rm x", None),
        ("sudo -D /x rm x", Some("/x")),
    ] {
        assert_eq!(directory(line).directory.as_deref(), expected, "{line}");
    }
    assert_eq!(directory("ssh h rm x").place, Place::Remote);
    assert_eq!(directory("docker exec c rm x").place, Place::Container);
    assert_eq!(directory("docker run i rm x").place, Place::NewContainer);
    assert_eq!(directory("docker run -v /:/h i rm x").place, Place::Container);
    assert_eq!(directory("sudo nice rm x").via, ["sudo", "nice"]);
}

#[test]
fn an_argument_says_what_is_known_about_it() {
    let sorts = |line: &str| {
        let reading = runs(line, &Known::default());
        let run = reading.runs.into_iter().rfind(|it| it.program() == Some("rm")).unwrap();
        run.words.into_iter().skip(1).map(|it| it.sort).collect::<Vec<_>>()
    };
    for (line, expected) in [
        ("rm x '*' \\*", vec![Sort::Plain, Sort::Plain, Sort::Plain]),
        ("rm *.c a?b", vec![Sort::Pattern, Sort::Pattern]),
        ("rm $X \"$X/y\" $(ls)", vec![Sort::Unknown, Sort::Unknown, Sort::Unknown]),
        ("x='*'; rm $x \"$x\"", vec![Sort::Pattern, Sort::Plain]),
        ("ls | while read x; do rm \"$x\"; done", vec![Sort::Input]),
        ("if a; then x=1; else x=2; fi; rm $x", vec![Sort::Unknown]),
        ("for f in *; do rm \"$f\"; done", vec![Sort::Pattern]),
    ] {
        assert_eq!(sorts(line), expected, "{line}");
    }
}

#[test]
fn what_was_not_read_is_said() {
    let unread = |line: &str| runs(line, &Known::default()).unread;
    for (line, expected) in [
        ("ls", vec![]),
        ("echo 'x", vec![Unread::Syntax]),
        ("ls )", vec![Unread::Syntax]),
        ("case a in b|) ls;; esac", vec![Unread::Syntax]),
        ("ls < 2>&1", vec![Unread::Syntax]),
        ("ls &>&1", vec![Unread::Syntax]),
        ("ls < 2 >f 2>&1 &>g", vec![]),
        ("$X y", vec![Unread::Program]),
        (&format!("for i in {}; do rm $i; done", "x ".repeat(30)), vec![Unread::Values]),
        (&format!("echo {} | xargs -n1 rm", "x ".repeat(30)), vec![Unread::Values]),
        ("curl x | sh", vec![Unread::Script]),
        ("bash <(curl x)", vec![Unread::Script]),
        ("sh -c \"$(curl x)\"", vec![Unread::Program]),
    ] {
        assert_eq!(unread(line), expected, "{line}");
    }
    assert_eq!(seen("echo 'x; rm y"), ["echo x", "rm y"]);
    assert!(runs(":(){ :|:& };:", &Known::default()).multiplies);
    assert!(!runs("f() { a; f; }; f", &Known::default()).multiplies);
}
