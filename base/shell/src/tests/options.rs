//! Commands in the values of options and variables, and calls by other names.

use super::*;

#[test]
fn an_option_or_a_variable_may_have_a_command() {
    for (line, expected) in [
        ("nu -c 'rm x'", vec!["rm x"]),
        ("just --command rm x", vec!["rm x"]),
        ("trap 'rm $d' EXIT; d=x; ls", vec!["trap rm $d EXIT", "ls", "rm x"]),
        (
            "trap 'rm $d' INT; d=x; trap 'ls $d' EXIT TERM",
            vec!["trap rm $d INT", "rm $d", "trap ls $d EXIT TERM", "ls x"],
        ),
        (
            "sh -c \"trap 'rm x' EXIT; ls\"; pwd",
            vec!["sh -c trap 'rm x' EXIT; ls", "trap rm x EXIT", "ls", "rm x", "pwd"],
        ),
        ("npx -c 'rm x'", vec!["rm x"]),
        ("npx --call='rm x' -p y", vec!["rm x"]),
        ("npm exec -c 'rm x && ls'", vec!["rm x", "ls"]),
        ("npm exec --package=y -c 'rm x'", vec!["rm x"]),
        ("pnpm -c exec 'rm x'", vec!["rm x"]),
        ("npm exec -- rm -c x", vec!["rm -c x"]),
        (
            "tar cf a b --checkpoint=1 --checkpoint-action=exec='rm x'",
            vec!["rm x", "tar cf a b --checkpoint=1 --checkpoint-action=exec=rm x"],
        ),
        ("tar -I 'rm x' -cf a b", vec!["rm x", "tar -I rm x -cf a b"]),
        ("ssh -o ProxyCommand='rm x' h", vec!["rm x", "ssh -o ProxyCommand=rm x h"]),
        ("git -c core.pager='rm x' log", vec!["rm x", "git -c core.pager=rm x log"]),
        ("echo 'rm x' > e; BASH_ENV=e bash -c ls", vec!["echo rm x", "bash -c ls", ". e", "rm x", "ls"]),
        ("BASH_ENV='$(rm x)' bash -c ls", vec!["bash -c ls", "rm x", ".", "ls"]),
        (
            "echo 'rm x' > e; export ENV=e; sh -c ls",
            vec!["echo rm x", "export ENV=e", "sh -c ls", ". e", "rm x", "ls"],
        ),
        ("ENV=production sh build.sh", vec!["sh build.sh", ". production"]),
    ] {
        assert_eq!(seen(line), expected, "{line}");
    }
}

#[test]
fn code_removes_by_a_name_of_its_own() {
    for code in [
        "from shutil import rmtree as r; r('x')",
        "import shutil as s; s.rmtree('x')",
        "import shutil\nr = shutil.rmtree\nr('x')",
        "getattr(shutil, 'rmtree')('x')",
        "from os import system as s; s('rm -rf x')",
        "import subprocess as p; p.run(['rm', '-rf', 'x'])",
    ] {
        let line = format!("python3 - <<'E'\n{code}\nE");
        assert!(seen(&line).contains(&"rm -rf x".to_owned()), "{code}");
    }
    for code in [
        "const { rmSync: r } = require('fs'); r('x', {recursive: true})",
        "import { rmSync as r } from 'fs'; r('x', {recursive: true})",
        "require('fs')['rmSync']('x', {recursive: true})",
        "const r = fs.rmSync; r('x', {recursive: true})",
        "const { execSync: e } = require('child_process'); e('rm -rf x')",
    ] {
        let line = format!("node - <<'E'\n{code}\nE");
        assert!(seen(&line).contains(&"rm -rf x".to_owned()), "{code}");
    }
    for code in [
        "package main\nimport \"os\"\nfunc main() { os.RemoveAll(\"x\") }",
        "func main() { exec.Command(\"rm\", \"-rf\", \"x\").Run() }",
        "func main() { exec.Command(\"sh\", \"-c\", \"rm -rf x\").Run() }",
    ] {
        let line = format!("cat > m.go <<'E'\n{code}\nE\ngo run m.go");
        assert!(seen(&line).contains(&"rm -rf x".to_owned()), "{code}");
        assert!(!seen(&line.replace("go run", "go vet")).contains(&"rm -rf x".to_owned()), "{code}");
    }
}
