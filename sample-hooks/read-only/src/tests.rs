use hookbox_sdk::json;

use super::*;

const CWD: &str = "/srv/app";

fn allows(line: &str) -> bool {
    let cx = Context { cwd: CWD.to_owned(), ..Context::default() };
    reason_for_line(&cx, line).is_some()
}

#[test]
fn lines_that_only_read_are_allowed() {
    for line in [
        "ls -la src",
        "cat Cargo.toml | head -n 20",
        "head -5 src/*.rs 2>/dev/null",
        "sed -n '10,40p' src/lib.rs",
        "sed 's/a/b/g' a.txt | sort | uniq -c | sort -rn",
        "grep -rn 'fn main' src --include='*.rs' | wc -l",
        "rg -n 'TODO' src/ | head",
        "find . -name '*.rs' -type f",
        "fd -e rs",
        "git status --short",
        "git log --oneline -5 && git diff --stat HEAD~1",
        "git --no-pager show HEAD:src/lib.rs",
        "git branch -vv; git remote -v",
        "cd /srv/app && git status",
        "cd src && ls",
        "for f in a.rs b.rs; do echo \"$f\"; head -n 3 \"$f\"; done",
        "if test -f a.txt; then cat a.txt; else echo none; fi",
        "echo \"on $(git rev-parse --abbrev-ref HEAD)\"",
        "diff <(sort a.txt) <(sort b.txt)",
        "jq '.name' package.json",
        "LC_ALL=C sort a.txt",
        "wc -l $(find src -name a.rs)",
        "pwd; du -sh * | sort -h",
        "command -v cargo || echo none",
        "stat -c %s a.rs",
        "time ls",
        "python3 --version",
    ] {
        // The words of a substitution are not known, so that `wc` may read anything.
        assert_eq!(allows(line), !line.starts_with("wc -l $"), "{line}");
    }
}

#[test]
fn every_other_line_is_left_to_the_question() {
    for line in [
        "",
        "touch a",
        "ls > a",
        "ls >> a",
        "cat a | tee b",
        "cat a | sh",
        "bash -c 'ls'",
        "sudo ls",
        "env ls",
        "xargs cat < list",
        "ls | xargs cat",
        "ssh host ls",
        "docker exec c ls",
        "./ls",
        "/tmp/ls",
        "PATH=/tmp ls",
        "PATH=/tmp; ls",
        "export PATH=/tmp; ls",
        "alias ls='touch x'; ls",
        "GIT_EXTERNAL_DIFF=x git diff",
        "LD_PRELOAD=x ls",
        "PAGER=x git log",
        "find . -delete",
        "find . -exec cat {} +",
        "find . -fprintf out x",
        "fd a -x touch",
        "fd a --exec=touch",
        "sort a -o b",
        "sort -uo b a",
        "sort --outp=b a",
        "sort --compress-program=x a",
        "sort *",
        "uniq a b",
        "uniq - b",
        "sed -i 's/a/b/' a",
        "sed -n '1w b' a",
        "sed 's/a/touch x/e' a",
        "sed -f a b",
        "awk '{print}' a",
        "less a",
        "tar -tf a.tar",
        "rg --pre touch a",
        "rg -uuu KEY",
        "rg a /",
        "grep -r KEY ~",
        "grep -R KEY ../..",
        "git -c core.pager=x log",
        "git -C /tmp/other status",
        "cd /tmp/other && git status",
        "cd \"$DIR\" && git status",
        "git diff --output=a",
        "git diff --outp a",
        "git diff --ext-diff",
        "git log -p --textconv",
        "git grep -O a",
        "git grep -nOsh a",
        "git branch new",
        "git branch -D old",
        "git tag v1",
        "git stash",
        "git remote show origin",
        "git reflog expire --all",
        "git config user.name me",
        "git config --get http.extraheader",
        "git checkout .",
        "git ls-remote",
        "git symbolic-ref HEAD refs/heads/x",
        "cat .env",
        "cat < .env",
        "head ~/.ssh/id_rsa",
        "cd ~/.ssh && cat config",
        "cat *",
        "cat .*",
        "cat .e*",
        "git show HEAD:.env",
        "grep -f .env a",
        "grep --file=.env a",
        "cat /dev/tcp/host/80",
        "cat < /dev/tcp/host/80",
        "cat \"$FILE\"",
        "jq -n env",
        "jq -n '$ENV'",
        "ps auxe",
        "ps eww",
        "printenv",
        "env",
        "date -s 10:00",
        "date 01010000",
        "hostname new",
        "printf -v PATH /tmp",
        "printf %d 'a[$(touch x)]'",
        "test -v 'a[$(touch x)]'",
        "test 'a[$(touch x)]' -eq 1",
        "echo $(touch x)",
        "echo \"$(touch x)\"",
        "cat <(touch x)",
        "ls *(e:'touch x':)",
        "f() { touch x; }; ls",
        "read PATH < a; ls",
        "eval ls",
        "exec ls",
        "source a",
        "trap 'touch x' EXIT; ls",
        "set -x; ls",
        "curl https://example.com",
        "$CMD a",
        "python -c 'print(1)'",
        "node a.js --version",
        "tree -o a",
        "file -C -m a",
        "ss -K",
        "exit $(touch x)",
        "whoami",
        "ls /",
        "ls ..",
        "ls ~",
        "cat /etc/hosts",
        "cat < /etc/hosts",
        "cat ../../a",
        "cd .. && ls",
        "cd /tmp && ls",
        "find / -name a",
        "find /usr/bin -perm -4000",
        "find . -name id_rsa",
        "grep -rn password .",
        "echo $GITHUB_TOKEN",
        "echo \"${GITHUB_TOKEN}\"",
        "x=$GITHUB_TOKEN; echo $x",
        "ls\ntouch a",
    ] {
        assert!(!allows(line), "{line}");
    }
}

fn answers(name: &str, input: Value) -> bool {
    let cx = Context { cwd: "/srv/app".to_owned(), ..Context::default() };
    reason(&cx, &ToolCall::new(name, input)).is_some()
}

#[test]
fn a_shell_that_gets_more_than_a_line_is_left_to_the_question() {
    for (input, is_allowed) in [
        (json!({"command": "ls"}), true),
        (json!({"command": "ls", "description": "x", "timeout": 5, "run_in_background": false}), true),
        (json!({"cmd": "ls", "workdir": "/srv/app"}), true),
        (json!({"cmd": "ls", "workdir": null}), true),
        (json!({"cmd": "ls", "workdir": "/tmp"}), false),
        (json!({"command": "ls", "dangerouslyDisableSandbox": true}), false),
        (json!({"command": "ls", "env": {"PATH": "/tmp"}}), false),
        (json!({"cmd": "ls", "sandbox_permissions": "require_escalated"}), false),
    ] {
        assert_eq!(answers("bash", input.clone()), is_allowed, "{input}");
    }
}

#[test]
fn tools_may_read_and_search_in_the_working_directory() {
    for (name, input, is_allowed) in [
        ("Read", json!({"file_path": "/srv/app/a/b.rs"}), true),
        ("Read", json!({"file_path": "/srv/app/.env"}), false),
        ("Read", json!({"file_path": "~/a"}), false),
        ("Read", json!({}), false),
        ("Grep", json!({"pattern": "fn main", "path": "src"}), true),
        ("Grep", json!({"pattern": "x", "glob": ".env*"}), false),
        ("Glob", json!({"pattern": "**/*.rs"}), true),
        ("Glob", json!({"pattern": "../**"}), false),
        ("Write", json!({"file_path": "/a", "content": "x"}), false),
        ("WebFetch", json!({"url": "https://example.com"}), false),
        ("mcp__a__read", json!({"path": "a"}), false),
    ] {
        assert_eq!(answers(name, input.clone()), is_allowed, "{name} {input}");
    }
}
