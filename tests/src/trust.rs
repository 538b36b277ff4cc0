//! `hookbox trust`, `untrust` and `grants`, through the real program.

use std::os::unix::fs::PermissionsExt as _;

use hookbox::EventName;
use serde_json::{Value, json};

use crate::answers::Backend;
use crate::environment::{Output, TestEnvironment, program, sample};

const BEFORE: &EventName = &EventName::BeforeToolCall;
const HOOK: &str = "repo/.kodelet/hooks/evil";

fn bash() -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": "ls"}})
}

/// A repository with a native hook that says where it ran, and a helper beside it.
fn brought() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.script(
        HOOK,
        "#!/bin/bash\necho \"$1\" >> \"$HOME/ran\"\n[ \"$1\" = hook ] && echo before_tool_call\nexit 0\n",
    );
    env.file("repo/.kodelet/hooks/lib/helper", "1");
    env.file("repo/.kodelet/hookbox.toml", "[hooks.evil]\npriority = 10\n");
    env
}

fn status(env: &TestEnvironment, name: &str) -> Value {
    let list = env.list(&[]);
    list.iter().find(|hook| hook["name"] == name).unwrap()["status"].clone()
}

#[track_caller]
fn succeeds(output: &Output) {
    assert_eq!(output.code, Some(0), "{output:#?}");
}

#[track_caller]
fn refuses(output: &Output, words: &[&str]) {
    assert_eq!(output.code, Some(2), "{output:#?}");
    assert_eq!(output.stdout, "");
    for word in words.iter().chain(&["hint: "]) {
        assert!(output.stderr.contains(word), "{word}: {output:#?}");
    }
}

#[test]
fn a_native_hook_of_a_repository_runs_once_it_is_trusted_and_not_before() {
    let env = brought();
    assert_eq!(status(&env, "evil"), "untrusted");
    let output = env.hookbox_with(["run", "before_tool_call"], bash().to_string());
    assert!(
        output.stderr.contains("skipped evil: not trusted; review it with `hookbox trust evil`"),
        "{output:#?}"
    );
    refuses(&env.hookbox(["trust", "evil"]), &["expected a terminal", "--yes"]);
    assert_eq!(env.read("home/ran"), None, "neither a look nor a question runs it");
    assert_eq!(env.hookbox(["grants", "--json"]).json(), json!([]));

    let shown = env.hookbox(["trust", "evil", "--yes", "--json"]);
    let record = shown.json();
    for word in ["evil (native, repo)", "all your rights", record["digest"].as_str().unwrap()] {
        assert!(shown.stderr.contains(word), "{word}: {shown:#?}");
    }
    assert_eq!(env.read("home/ran"), None, "what is trusted runs when an event comes");
    assert_eq!(status(&env, "evil"), "active");
    assert_eq!(env.list(&[])[0]["digest"], record["digest"]);
    let report = env.event(&["before_tool_call", "--report"], &bash());
    assert_eq!(report["hooks"][0]["status"], "passed", "{report:#}");
    assert!(env.read("home/ran").unwrap().contains("run"));
    let file = env.path("home/.local/share/hookbox/trust.json");
    assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600);

    let again = env.hookbox(["trust", "evil"]);
    succeeds(&again);
    assert!(again.stderr.contains("is trusted already"), "{again:#?}");
    succeeds(&env.hookbox(["untrust", "evil"]));
    assert_eq!(status(&env, "evil"), "untrusted");
    refuses(&env.hookbox(["untrust", "evil"]), &["nothing is recorded"]);
}

#[test]
fn whatever_changes_of_a_trusted_hook_takes_the_trust_away() {
    type Change = fn(&TestEnvironment);
    let changes: [(&str, Change); 5] = [
        ("a byte", |env| {
            let text = env.read(HOOK).unwrap();
            env.script(HOOK, &format!("{text}\n"));
        }),
        ("a helper", |env| {
            env.file("repo/.kodelet/hooks/lib/helper", "2");
        }),
        ("a new helper", |env| {
            env.file("repo/.kodelet/hooks/lib/new", "");
        }),
        ("a mode", |env| {
            env.mode("repo/.kodelet/hooks/lib/helper", 0o755);
        }),
        ("its settings", |env| {
            env.file("repo/.kodelet/hookbox.toml", "[hooks.evil]\nsettings = { path = \"/\" }\n");
        }),
    ];
    for (what, change) in changes {
        let env = brought();
        succeeds(&env.hookbox(["trust", "evil", "--yes"]));
        assert_eq!(status(&env, "evil"), "active", "{what}");
        let ran = env.read("home/ran");
        change(&env);
        let output = env.hookbox_with(["run", "before_tool_call"], bash().to_string());
        assert!(output.stderr.contains("has changed since you trusted it"), "{what}: {output:#?}");
        assert_eq!(status(&env, "evil"), "untrusted", "{what}");
        assert_eq!(env.read("home/ran"), ran, "{what}");
        let grants = env.hookbox(["grants", "--json"]).json();
        assert_eq!(grants[0]["status"], "changed", "{what}");
    }
}

#[tokio::test]
async fn a_hook_that_changes_between_discovery_and_run_does_not_run() {
    let env = brought();
    succeeds(&env.hookbox(["trust", "evil", "--yes"]));
    let manager = env.builder().build().await;
    let session = manager.session("c");
    let call = || hookbox::ToolCall::new("bash", json!({"command": "ls"}));
    let verdict = session.before_tool_call(call()).await;
    assert_eq!(verdict.report.hooks[0].cause, None);
    env.file("repo/.kodelet/hooks/lib/helper", "2");
    let ran = env.read("home/ran");
    let verdict = session.before_tool_call(call()).await;
    assert_eq!(verdict.report.hooks[0].cause, Some(hookbox::Cause::Untrusted));
    assert_eq!(env.read("home/ran"), ran);
    env.file("repo/.kodelet/hooks/lib/helper", "1");
    let verdict = session.before_tool_call(call()).await;
    assert_eq!(verdict.report.hooks[0].cause, None);
}

#[test]
fn trust_holds_in_one_place_only() {
    let env = brought();
    succeeds(&env.hookbox(["trust", "evil", "--yes"]));
    let copied = env.run(env.command("cp").args(["-a"]).arg(env.path("repo")).arg(env.path("clone")), "");
    succeeds(&copied);
    let clone = env.path("clone").into_os_string().into_string().unwrap();
    assert_eq!(env.list(&[])[0]["status"], "active");
    assert_eq!(env.list(&["--cwd", &clone])[0]["status"], "untrusted");
    refuses(&env.hookbox(["untrust", "evil", "--cwd", &clone]), &["nothing is recorded"]);
}

#[test]
fn what_cannot_be_found_or_is_not_unique_is_named() {
    let env = brought();
    refuses(&env.hookbox(["trust", "evl", "--yes"]), &["no hook has this name", "evil"]);
    env.native("repo/.hookbox/hooks/evil", "turn_end", "true");
    let one = env.path("repo/.hookbox/hooks/evil");
    let other = env.path(HOOK);
    refuses(
        &env.hookbox(["trust", "evil", "--yes"]),
        &["found 2", one.to_str().unwrap(), other.to_str().unwrap()],
    );
    let warned = env.hookbox_with(["run", "before_tool_call"], bash().to_string());
    assert!(warned.stderr.contains(&format!("hookbox trust {}", one.display())), "{warned:#?}");
    succeeds(&env.hookbox(["trust", ".hookbox/hooks/evil", "--yes"]));
    let statuses: Vec<_> =
        env.list(&[]).into_iter().map(|it| (it["path"].clone(), it["status"].clone())).collect();
    assert!(statuses.contains(&(json!(one), json!("active"))), "{statuses:?}");

    // Trust is taken back also where the file is gone.
    std::fs::remove_file(&one).unwrap();
    assert_eq!(env.hookbox(["grants", "--json"]).json()[0]["status"], "missing");
    succeeds(&env.hookbox(["untrust", one.to_str().unwrap()]));
    assert_eq!(env.hookbox(["grants", "--json"]).json(), json!([]));
}

#[test]
fn a_data_directory_that_somebody_else_could_write_trusts_nothing() {
    let env = brought().variable("XDG_DATA_HOME", "");
    succeeds(&env.hookbox(["trust", "evil", "--yes"]));
    let inside = env.path("repo/data").into_os_string().into_string().unwrap();
    let copied = env.run(
        env.command("cp").args(["-a"]).arg(env.path("home/.local/share")).arg(env.path("repo/data")),
        "",
    );
    succeeds(&copied);
    let env = env.variable("XDG_DATA_HOME", &inside);
    assert_eq!(status(&env, "evil"), "untrusted");
    refuses(&env.hookbox(["trust", "evil", "--yes"]), &["lies inside the repository"]);
}

#[test]
fn a_trust_file_that_cannot_be_read_trusts_nothing_and_is_left_alone() {
    let env = brought();
    succeeds(&env.hookbox(["trust", "evil", "--yes"]));
    let file = "home/.local/share/hookbox/trust.json";
    env.file(file, "garbage");
    let list = env.hookbox(["list", "--json"]);
    assert_eq!(list.json()[0]["status"], "untrusted");
    assert!(list.stderr.contains("trust.json: contains no record of trust"), "{list:#?}");
    let output = env.hookbox(["trust", "evil", "--yes"]);
    assert_eq!(output.code, Some(2), "{output:#?}");
    assert!(output.stderr.contains("move it aside"), "{output:#?}");
    assert_eq!(env.read(file).as_deref(), Some("garbage"));
}

#[test]
fn a_component_of_a_repository_gives_all_its_answers_once_it_is_trusted() {
    let env = TestEnvironment::new();
    let answer = json!({"modify": {"command": "echo changed"}});
    let name = Backend::Component.hook(&env, "repo/.hookbox", "edit", BEFORE, &answer, "");
    let input = || env.event(&["before_tool_call"], &bash())["input"].clone();
    assert_eq!(input(), Value::Null);
    let shown = env.hookbox(["trust", &name, "--yes"]);
    succeeds(&shown);
    assert!(shown.stderr.contains("answers pass block ask warn"), "{shown:#?}");
    assert_eq!(input(), json!({"command": "echo changed"}));
    assert_eq!(env.list(&[])[0]["trusted"], true);

    // A custom section with nothing in it: other bytes, the same code.
    let path = format!("repo/.hookbox/hooks/{name}");
    let mut bytes = std::fs::read(env.path(&path)).unwrap();
    bytes.extend([0, 2, 1, b'x']);
    env.file(&path, bytes);
    let output = env.hookbox_with(["run", "before_tool_call"], bash().to_string());
    assert_eq!(output.json()["input"], Value::Null);
    assert!(output.stderr.contains("has changed since you trusted it"), "{output:#?}");
}

#[test]
fn a_right_that_is_not_asked_for_is_not_granted_and_no_hook_grants() {
    let env = TestEnvironment::new();
    let name = Backend::Component.hook(&env, "repo/.hookbox", "x", BEFORE, &json!({}), "");
    refuses(&env.hookbox(["grants", "add", &name, "store", "--yes"]), &["is not trusted"]);
    refuses(&env.hookbox(["trust", &name, "--grant", "read:/etc", "--yes"]), &["does not ask for this"]);
    refuses(&env.hookbox(["trust", &name, "--grant", "everything", "--yes"]), &["is not a right"]);
    let address = "http:http://127.0.0.1:8080";
    succeeds(&env.hookbox(["trust", &name, "--grant", address, "--yes"]));
    assert_eq!(env.hookbox(["grants", "--json"]).json()[0]["granted"], json!([address]));
    refuses(&env.hookbox(["grants", "remove", &name, "store"]), &["was not granted"]);
    succeeds(&env.hookbox(["grants", "remove", &name]));
    assert_eq!(env.hookbox(["grants", "--json"]).json()[0]["granted"], json!([]));
    assert_eq!(env.hookbox(["grants", "--json"]).json()[0]["trusted"], true);

    let env = env.variable("HOOKBOX_DEPTH", "1");
    refuses(&env.hookbox(["grants", "add", &name, address, "--yes"]), &["a hook can neither"]);
    refuses(&env.hookbox(["trust", &name, "--yes"]), &["a hook can neither"]);
}

#[test]
fn processes_that_trust_at_the_same_time_lose_nothing() {
    let env = TestEnvironment::new();
    let names: Vec<String> = (0..8).map(|n| format!("hook-{n}")).collect();
    for name in &names {
        env.native(&format!("repo/.hookbox/hooks/{name}"), "turn_end", "true");
    }
    let children: Vec<_> = names
        .iter()
        .map(|name| env.command(program()).args(["trust", name, "--yes"]).spawn().unwrap())
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let grants = env.hookbox(["grants", "--json"]).json();
    assert_eq!(grants.as_array().unwrap().len(), 8);
    assert!(grants.as_array().unwrap().iter().all(|row| row["status"] == "current"), "{grants:#}");
}

/// A trusted hook that is a symlink to a script in another directory of the repository, with this behind it.
fn linked() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.native("repo/tools/guard", "before_tool_call", "cat > /dev/null; printf '{\"blocked\":true}'");
    env.file("repo/tools/lib/helper.py", "1");
    env.file("repo/other", "1");
    env.directory("repo/.hookbox/hooks").symlink("repo/.hookbox/hooks/guard", "../../tools/guard");
    let shown = env.hookbox(["trust", "guard", "--yes"]);
    succeeds(&shown);
    assert!(shown.stderr.contains("  with    tools/\n"), "{shown:#?}");
    env
}

#[test]
fn a_hook_that_is_a_symlink_is_trusted_with_the_directory_that_it_leads_to() {
    for (path, changes) in
        [("repo/tools/json.py", true), ("repo/tools/lib/helper.py", true), ("repo/other", false)]
    {
        let env = linked();
        let blocked = || env.event(&["before_tool_call"], &bash())["blocked"].clone();
        assert_eq!(blocked(), true, "{path}");
        env.file(path, "2");
        assert_eq!(blocked(), !changes, "{path}");
        let output = env.hookbox_with(["run", "before_tool_call"], bash().to_string());
        assert_eq!(
            output.stderr.contains("has changed since you trusted it"),
            changes,
            "{path}: {output:#?}"
        );
    }
}

#[tokio::test]
async fn a_file_beside_the_target_of_a_symlink_is_looked_at_again_before_the_hook_starts() {
    let env = linked();
    let manager = env.builder().build().await;
    let session = manager.session("c");
    let call = || hookbox::ToolCall::new("bash", json!({"command": "ls"}));
    assert_eq!(session.before_tool_call(call()).await.report.hooks[0].cause, None);
    env.file("repo/tools/json.py", "");
    let verdict = session.before_tool_call(call()).await;
    assert_eq!(verdict.report.hooks[0].cause, Some(hookbox::Cause::Untrusted));
}

#[test]
fn a_hook_that_leads_to_the_root_of_its_repository_cannot_be_trusted() {
    let env = TestEnvironment::new();
    env.native("repo/guard", "before_tool_call", "true");
    env.directory("repo/.hookbox/hooks").symlink("repo/.hookbox/hooks/guard", "../../guard");
    refuses(&env.hookbox(["trust", "guard", "--yes"]), &["leads to a file in the root of the repository"]);
}

#[test]
fn a_trusted_hook_that_changed_is_said_in_the_answer_to_the_agent_in_every_event() {
    use hookbox_agents::Agent;
    let env = linked();
    env.native("repo/.hookbox/hooks/never", "before_tool_call", "true");
    succeeds(&env.hookbox(["trust", "guard", "--yes"]));
    env.file("repo/tools/json.py", "");
    for is_first in [true, false] {
        let payload = Agent::Claude.shell_call(
            Agent::Claude.event("PreToolUse").unwrap(),
            "ls",
            &env.path("repo"),
            "s",
        );
        let output = env.hookbox_with(["bridge", "claude"], payload.to_string());
        let shown = output.json()["systemMessage"].as_str().unwrap_or_default().to_owned();
        assert!(shown.contains("guard") && shown.contains("has changed since you trusted it"), "{output:#?}");
        // A session hears once of a hook that was never trusted.
        assert_eq!(
            shown.contains("a hook does not run, because you have not trusted it"),
            is_first,
            "{output:#?}"
        );
    }
}

#[test]
fn trust_grants_again_what_was_taken_back() {
    for home in [true, false] {
        let env = TestEnvironment::new();
        let place = if home { "home" } else { "repo" };
        env.directory("repo/.git");
        env.copy(&format!("{place}/.hookbox/hooks/audit-log.wasm"), &sample("audit-log"));
        let granted = |env: &TestEnvironment| env.hookbox(["grants", "--json"]).json()[0]["granted"].clone();
        succeeds(&env.hookbox(["trust", "audit-log.wasm", "--yes"]));
        let all = granted(&env);
        assert_ne!(all, json!([]));
        succeeds(&env.hookbox(["grants", "remove", "audit-log.wasm"]));
        assert_eq!(granted(&env), json!([]));
        let output = env.hookbox(["trust", "audit-log.wasm", "--yes"]);
        succeeds(&output);
        assert!(output.stdout.contains("granted: "), "{output:#?}");
        assert_eq!(granted(&env), all);
        let again = env.hookbox(["trust", "audit-log.wasm"]);
        succeeds(&again);
        assert!(again.stderr.contains("already"), "{again:#?}");
    }
}

#[tokio::test]
async fn an_embedded_session_warns_once_of_an_untrusted_hook_and_reports_it_each_time() {
    let env = brought();
    env.file("repo/.kodelet/hookbox.toml", "[hooks.evil]\non_failure = \"block\"\n");
    let manager = env.builder().build().await;
    for session in ["one", "two"] {
        let session = manager.session(session);
        let mut warned = Vec::new();
        for _ in 0..3 {
            let call = hookbox::ToolCall::new("bash", json!({"command": "ls"}));
            let fired = session.clone().fire(hookbox::event::EventData::BeforeToolCall(call)).await;
            assert_eq!(fired.report.hooks[0].cause, Some(hookbox::Cause::Untrusted), "{fired:#?}");
            assert!(fired.verdict.block.is_some(), "{fired:#?}");
            warned.push(fired.verdict.warnings.iter().filter(|it| it.text.starts_with("skipped ")).count());
        }
        assert_eq!(warned, [1, 0, 0]);
    }
}

#[test]
fn the_advice_about_an_untrusted_hook_works_as_it_is_printed() {
    const PLAIN: &str = ".hookbox/hooks/guard";
    const ODD: &str = ".hookbox/hooks/it's \"a\" $x guard";
    const OF_PLUGIN: &str = ".hookbox/plugins/o@r p/hooks/x y";
    const OTHER: &str = ".other root/hooks/guard";
    let other = ["--root", ".other root"];
    for (file, args, is_elsewhere) in [
        (PLAIN, &[][..], false),
        (PLAIN, &["--cwd", "../repo"], true),
        (ODD, &[], false),
        (ODD, &[], true),
        (OF_PLUGIN, &[], false),
        (OF_PLUGIN, &["--cwd", "../repo"], true),
        (".hookbox/hooks/-dash", &[], false),
        (OTHER, &other, false),
        (OTHER, &[other[0], other[1], "--cwd", "../repo"], true),
    ] {
        let env = TestEnvironment::new();
        env.directory("repo/.git").directory("elsewhere");
        env.native(&format!("repo/{file}"), "before_tool_call", "echo '{\"blocked\":true}'");
        env.symlink("bin/hookbox", program().to_str().unwrap());
        let run = || env.hookbox_with([&["run", "before_tool_call"], args].concat(), bash().to_string());
        let warned = run().json()["warnings"][0].as_str().unwrap().to_owned();
        let command = warned.split('`').nth(1).unwrap_or_else(|| panic!("no command in {warned}"));
        let directory = if is_elsewhere { "elsewhere" } else { "repo" };
        let mut shell = env.command("bash");
        shell.args(["-c", &format!("{command} --yes")]).current_dir(env.path(directory));
        succeeds(&env.run(&mut shell, ""));
        assert_eq!(run().json()["blocked"], true, "{command}");
    }
}

#[test]
fn trust_holds_in_a_linked_working_tree_at_the_same_content() {
    const BLOCKS: &str = r#"echo '{"blocked": true, "reason": "no"}'"#;
    let env = TestEnvironment::new();
    env.native("repo/.hookbox/hooks/guard", "before_tool_call", BLOCKS);
    let git = |words: &[&str]| {
        let who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let output = env.command("git").args(who).args(words).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    };
    git(&["init", "--quiet"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "--message", "guard"]);
    git(&["worktree", "add", "--quiet", "../linked"]);
    // A directory that names the repository, which does not name it.
    env.native("other/.hookbox/hooks/guard", "before_tool_call", BLOCKS);
    env.file("other/.git", env.read("linked/.git").unwrap());
    let blocks = |directory: &str| {
        let at = env.path(directory);
        let call = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
        let args = ["run", "before_tool_call", "--cwd", at.to_str().unwrap()];
        env.hookbox_with(args, call.to_string()).json()["blocked"] == true
    };
    assert!(!blocks("repo") && !blocks("linked"));
    assert_eq!(env.hookbox(["trust", "guard", "--yes"]).code, Some(0));
    assert!(blocks("repo") && blocks("linked") && !blocks("other"));
    env.native("linked/.hookbox/hooks/guard", "before_tool_call", &format!("touch \"$HOME/ran\"; {BLOCKS}"));
    assert!(!blocks("linked") && blocks("repo"));
    assert_eq!(env.read("home/ran"), None);
}
