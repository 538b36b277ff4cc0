//! The guards with the right to know the state of the repository, over real repositories. No line runs.

use hookbox::internal::tool_result;
use std::process::{Command, Stdio};

use hookbox::ToolCall;
use hookbox::session::{Session, ToolDecision};
use serde_json::{Value, json};

use crate::environment::{TestEnvironment, program};

/// The guards that ask for the state, with the time that a busy machine needs.
const SETTINGS: &str =
    "[hooks.\"git.wasm\"]\ntimeout = \"100s\"\n\n[hooks.\"destructive.wasm\"]\ntimeout = \"100s\"\n";

/// A repository with one commit, which is pushed, and the guards as `hookbox guard add` leaves them.
fn place() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.file("repo/src/a.rs", "a").file("repo/.gitignore", "build-arm/\n");
    for line in ["init --quiet --bare --initial-branch=main ../remote", "init --quiet --initial-branch=main"]
    {
        git(&env, line);
    }
    for line in [
        "add .",
        "commit --quiet -m one",
        "remote add origin https://git.example/remote",
        "push --quiet -u origin main",
    ] {
        git(&env, line);
    }
    let added = env.hookbox(["guard", "add", "git", "destructive", "--yes"]);
    assert_eq!(added.code, Some(0), "{added:#?}");
    assert!(added.stderr.contains("is granted work-tree") && added.stderr.contains("is granted store"));
    env.file("home/.hookbox/hookbox.toml", SETTINGS);
    env
}

/// Runs git in the repository with the words of a line, and without settings of the user.
fn git(env: &TestEnvironment, line: &str) {
    let output = Command::new("git")
        .args("-c user.name=t -c user.email=t@t -c commit.gpgSign=false".split(' '))
        // The address is one elsewhere, and leads to a directory.
        .args(["-c", "url.../.insteadOf=https://git.example/"])
        .args(line.split(' '))
        .current_dir(env.path("repo"))
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .env("HOME", env.path("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "git {line}: {output:?}");
}

async fn session(env: &TestEnvironment) -> Session {
    env.builder().build().await.session("c")
}

fn bash(line: &str) -> ToolCall {
    ToolCall::new("bash", json!({ "command": line }))
}

/// Returns the lines that are blocked.
async fn blocked<'a>(session: &Session, lines: &[&'a str]) -> Vec<&'a str> {
    let mut blocked = Vec::new();
    for line in lines {
        if let ToolDecision::Block(_) = session.before_tool_call(bash(line)).await.decision {
            blocked.push(*line);
        }
    }
    blocked
}

/// Lines that lose nothing in the repository as it is made.
const HARMLESS: [&str; 6] = [
    "git reset --hard",
    "git clean -fd",
    "git checkout .",
    "git branch -D side",
    "rm -rf src",
    "cd src && rm -rf ../build-arm",
];

/// Those that lose something after [`change`].
const LOSSES: [&str; 5] =
    ["git reset --hard", "git clean -fd", "git checkout .", "git branch -D side", "rm -rf src"];

/// Makes a changed file, an untracked one, and a commit that no remote has.
fn change(env: &TestEnvironment) {
    for line in ["checkout --quiet side", "commit --quiet --allow-empty -m two", "checkout --quiet main"] {
        git(env, line);
    }
    env.file("repo/src/a.rs", "a longer text").file("repo/src/new.rs", "new");
}

#[tokio::test]
async fn what_loses_nothing_passes_and_everything_else_is_blocked() {
    let env = place();
    git(&env, "branch side");
    env.file("repo/build-arm/a.o", "ignored").file("repo/data/a", "untracked");
    let session = session(&env).await;
    assert_eq!(blocked(&session, &HARMLESS).await, ["git clean -fd"], "`data` is untracked");
    std::fs::rename(env.path("repo/data"), env.path("data")).unwrap();
    assert_eq!(blocked(&session, &HARMLESS).await, [""; 0]);
    let lost =
        ["git push --force", "git stash clear", "rm -rf ~/docs", "rm -rf .git", "rm -rf build-arm src ."];
    assert_eq!(blocked(&session, &lost).await, lost);
    change(&env);
    assert_eq!(blocked(&session, &LOSSES).await, LOSSES);
}

/// Asks the program about a line as `npm` and `npx` start it: with `directory` in front of its `PATH`.
fn event_below(env: &TestEnvironment, directory: &str, line: &str) -> Value {
    let mut command = env.command(program());
    command.env("PATH", format!("{directory}:/usr/local/bin:/usr/bin:/bin"));
    let event = json!({"tool_name": "bash", "tool_input": {"command": line}});
    env.run(command.args(["run", "before_tool_call"]), event.to_string()).json()
}

#[test]
fn a_git_of_the_repository_is_not_run_and_excuses_nothing() {
    let env = place();
    let mark = env.path("mark");
    let lie = format!(
        "#!/bin/sh\n: > '{}'\ncase \"$*\" in *' status '*) printf '# branch.head main\\0'; exit;; esac\n\
         PATH=/usr/bin:/bin exec git \"$@\"\n",
        mark.display()
    );
    env.script("repo/node_modules/.bin/git", &lie).file("repo/.git/info/exclude", "node_modules\n");
    env.symlink("links/git", "../repo/node_modules/.bin/git");
    let directories =
        [env.path("repo/node_modules/.bin"), env.path("links"), "/proc/self/cwd/node_modules/.bin".into()];
    for directory in directories.iter().map(|it| it.to_str().unwrap()) {
        let clean = event_below(&env, directory, "git reset --hard");
        assert_ne!(clean["blocked"], true, "{directory}: {clean}");
    }
    env.file("repo/src/a.rs", "a longer text");
    // Not even if the user's settings name it.
    for settings in ["", "[git]\nprogram = \"REPO/node_modules/.bin/git\"\n"] {
        let settings = settings.replace("REPO", env.path("repo").to_str().unwrap());
        env.file("home/.hookbox/hookbox.toml", format!("{settings}{SETTINGS}"));
        for directory in directories.iter().map(|it| it.to_str().unwrap()) {
            let changed = event_below(&env, directory, "git reset --hard");
            assert_eq!(changed["blocked"], true, "{directory}: {changed}");
        }
    }
    assert!(!mark.exists(), "a program of the repository ran");
}

#[test]
fn a_git_that_the_user_can_write_is_not_fixed_at_install_and_not_replaced_by_a_tool() {
    let env = place();
    env.directory("home/.claude").directory("bin").script("repo/bin/git", "#!/bin/sh\n");
    env.symlink("bin/git", "../repo/bin/git");
    let before = env.read("home/.hookbox/hookbox.toml");
    let installed = env.hookbox(["install", "claude", "--yes"]);
    assert_eq!(installed.code, Some(0), "{installed:#?}");
    assert_eq!(env.read("home/.hookbox/hookbox.toml"), before);
    let git = env.path("bin/git");
    for (tool, input) in [
        ("Write", json!({ "file_path": git, "content": "" })),
        ("Bash", json!({ "command": format!("cp /tmp/x {}", git.display()) })),
    ] {
        let verdict = env.event(&["before_tool_call"], &json!({"tool_name": tool, "tool_input": input}));
        assert_eq!(verdict["blocked"], true, "{verdict}");
    }
    for line in ["git status", "cat /usr/bin/git", &format!("ls {}", env.path("bin").display())] {
        let verdict =
            env.event(&["before_tool_call"], &json!({"tool_name": "Bash", "tool_input": {"command": line}}));
        assert_ne!(verdict["blocked"], true, "{verdict}");
    }
}

#[tokio::test]
async fn without_the_permission_nothing_is_excused() {
    let env = place();
    git(&env, "branch side");
    env.file("repo/build-arm/a.o", "ignored");
    for (hook, rights) in [("git.wasm", &["work-tree"][..]), ("destructive.wasm", &["work-tree", "store"])] {
        let taken = env.hookbox([&["grants", "remove", hook], rights].concat());
        assert_eq!(taken.code, Some(0), "{taken:#?}");
    }
    let session = session(&env).await;
    assert_eq!(blocked(&session, &HARMLESS).await, HARMLESS);
    // A missing permission for a path is no news: a guard asks before most writes.
    let made = session.before_tool_call(bash("mkdir notes && touch a.txt")).await;
    assert!(made.notes.warnings.is_empty(), "{:?}", made.notes.warnings);
}

/// Sends a call and its result, and does its work in between.
async fn call(session: &Session, call: ToolCall, work: impl FnOnce()) {
    let verdict = session.before_tool_call(call.clone()).await;
    assert!(!matches!(verdict.decision, ToolDecision::Block(_)), "{verdict:?}");
    work();
    let after = session.after_tool_call(tool_result(call, Value::from("done"))).await;
    assert!(after.notes.warnings.is_empty(), "{:?}", after.notes.warnings);
}

#[tokio::test]
async fn what_the_agent_made_in_this_session_may_be_removed() {
    let env = place();
    let session = session(&env).await;
    let write = |path: &str| {
        let path = env.path("repo").join(path);
        ToolCall::new("write", json!({ "file_path": path, "content": "x" }))
    };
    call(&session, bash("mkdir -p notes/deep && echo x > notes/deep/a.txt"), || {
        env.file("repo/notes/deep/a.txt", "x");
    })
    .await;
    call(&session, write("drafts/b.txt"), || {
        env.file("repo/drafts/b.txt", "x");
    })
    .await;
    // The call fails, and somebody else makes the directory later.
    call(&session, bash("mkdir theirs"), || {}).await;
    env.file("repo/theirs/c.txt", "mine").file("repo/mine/d.txt", "mine");
    call(&session, bash("mkdir -p mine theirs"), || {}).await;
    call(&session, write("mine/d.txt"), || {}).await;
    let lines = [
        "rm -rf notes",
        "rm -rf notes/deep/*",
        "rm -rf drafts",
        "rm -rf theirs",
        "rm -rf mine",
        "rm -rf src/..",
    ];
    assert_eq!(blocked(&session, &lines).await, lines[3..]);
    // A directory that gets other files is not only the agent's any more.
    assert_eq!(blocked(&session, &["mv mine notes/"]).await, [""; 0]);
    assert_eq!(blocked(&session, &["rm -rf notes", "rm -rf drafts"]).await, ["rm -rf notes"]);
    // The store outlives the process, and another session has made nothing.
    let again = env.builder().build().await;
    assert_eq!(blocked(&again.session("c"), &["rm -rf drafts"]).await, [""; 0]);
    assert_eq!(blocked(&again.session("d"), &["rm -rf drafts"]).await, ["rm -rf drafts"]);
}

#[test]
fn a_removed_guard_has_no_permissions_any_more() {
    let env = place();
    let granted = || env.hookbox(["grants", "--json"]).stdout;
    assert!(granted().contains("git.wasm") && granted().contains("destructive.wasm"), "{}", granted());
    let removed = env.hookbox(["guard", "remove", "git", "--yes"]);
    assert_eq!(removed.code, Some(0), "{removed:#?}");
    assert!(!granted().contains("git.wasm") && granted().contains("destructive.wasm"), "{}", granted());
}
