//! `hookbox guard`: the guards that the program carries.

use std::fs;
use std::time::Duration;

use hookbox::ComponentHook;
use hookbox::manager::Manager;
use hookbox::session::{Session, ToolDecision};
use hookbox::{Descriptor, Digest, Kind, Settings, Subscription, ToolCall};
use hookbox_guards::{GUARDS, Guard};
use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, repository, runtime};

const DIRECTORY: &str = "home/.hookbox/hooks";
const SETTINGS: &str = "home/.hookbox/hookbox.toml";
const RECORD: &str = "home/.local/share/hookbox/guards.json";

/// The names of all guards.
fn names() -> Vec<&'static str> {
    GUARDS.iter().map(|guard| guard.name).collect()
}

fn path(name: &str) -> String {
    format!("{DIRECTORY}/{name}.wasm")
}

/// A value of every guard in `hookbox guard list --json`.
fn listed(env: &TestEnvironment, key: &str) -> Vec<Value> {
    let list = env.hookbox(["guard", "list", "--json"]).json();
    list.as_array().unwrap().iter().map(|row| row[key].clone()).collect()
}

/// The values of a key in the JSON of a command.
fn values(output: &Output, key: &str) -> Vec<Value> {
    let rows = serde_json::from_str::<Value>(&output.stdout).unwrap();
    rows.as_array().unwrap().iter().map(|row| row[key].clone()).collect()
}

#[track_caller]
fn refused(output: &Output, code: i32, words: &[&str]) {
    assert_eq!(output.code, Some(code), "{output:#?}");
    for word in words {
        assert!(output.stderr.contains(word), "{word}: {output:#?}");
    }
}

#[track_caller]
fn done(output: &Output) {
    assert_eq!(output.code, Some(0), "{output:#?}");
}

/// An environment with files that look like the guards, as hookbox would have written them.
fn with_older(names: &[&str]) -> TestEnvironment {
    let env = TestEnvironment::new();
    let mut written = serde_json::Map::new();
    for name in names {
        env.file(&path(name), "an older version");
        let digest = Digest::of(b"an older version").to_string();
        let file = env.path(path(name)).to_str().unwrap().to_owned();
        written.insert(file, json!({"digest": digest, "version": "0.0.9"}));
    }
    env.file(RECORD, json!({"version": 1, "written": written}).to_string()).mode(RECORD, 0o600);
    env.mode("home/.local/share/hookbox", 0o700);
    env
}

#[tokio::test]
async fn every_guard_that_the_program_carries_is_what_the_table_says() {
    for guard in &GUARDS {
        let component = runtime().load(guard.component.to_vec()).await.unwrap();
        let manifest = component.manifest();
        assert_eq!((&*manifest.name, &*manifest.version), (guard.name, Guard::VERSION));
        let events: Vec<_> = manifest.subscriptions.iter().map(|it| it.event.clone()).collect();
        assert_eq!(events, guard.events, "{}", guard.name);
        let asked: Vec<_> = manifest.capabilities.iter().map(ToString::to_string).collect();
        assert_eq!(asked, guard.permissions, "{}", guard.name);
        // Late, so that it judges what other hooks have made of the call.
        let judging = manifest.subscriptions.iter().filter(|it| !it.observe);
        assert!(judging.map(|it| it.priority).all(|it| it == 90), "{}", guard.name);
    }
}

/// The lines of the guards' corpus. None of them runs.
fn corpus() -> Vec<String> {
    let files = fs::read_dir(repository().join("guards/corpus")).unwrap().map(|it| it.unwrap().path());
    let texts = files.filter(|it| it.extension().is_some_and(|it| it == "jsonl")).map(fs::read_to_string);
    let texts: Vec<String> = texts.map(Result::unwrap).collect();
    let lines = texts.iter().flat_map(|it| it.lines()).map(|it| serde_json::from_str::<Value>(it).unwrap());
    lines.filter_map(|it| Some(it["command"].as_str()?.to_owned())).collect()
}

/// A session with a guard that has the strictest preset, for the tools of its manifest or for all.
async fn strict(guard: &Guard, tools: impl Fn(&Subscription) -> Vec<String>) -> Session {
    let component = runtime().load(guard.component.to_vec()).await.unwrap();
    let mut descriptor = Descriptor::new(guard.name, Kind::Component);
    descriptor.subscriptions = component.manifest().subscriptions.clone();
    for subscription in &mut descriptor.subscriptions {
        subscription.tools = tools(subscription);
    }
    // A busy machine gets its time.
    descriptor.budget.wall = Duration::from_secs(120);
    let settings = Settings::from([("preset".to_owned(), "strict".to_owned())]);
    let hook = ComponentHook::new(component, descriptor, settings);
    Manager::builder().directories(false).builtins(false).hook(hook).build().await.session("c")
}

#[tokio::test]
async fn a_line_that_a_guard_does_not_see_would_pass_it() {
    let lines = corpus();
    assert!(lines.len() > 3000, "{}", lines.len());
    for name in ["destructive", "git", "secrets", "supply-chain"] {
        let guard = Guard::named(name).unwrap();
        let (own, all) = (strict(guard, |it| it.tools.clone()).await, strict(guard, |_| Vec::new()).await);
        let mut unseen = 0;
        // Some of them are enough, because each takes two sessions.
        for line in lines.iter().step_by(2) {
            let call = || ToolCall::new("bash", json!({ "command": line }));
            if own.before_tool_call(call()).await.notes.report.hooks[0].passed_over.is_some() {
                unseen += 1;
                let decision = all.before_tool_call(call()).await.decision;
                assert!(!matches!(decision, ToolDecision::Block(_)), "{name}: {line}");
            }
        }
        assert!(unseen > 300, "{name}: {unseen}");
    }
}

#[test]
fn guards_are_added_and_guard() {
    let env = TestEnvironment::new();
    let table = env.hookbox(["guard", "list"]);
    assert!(table.stdout.lines().all(|line| line.len() <= 80), "{table:#?}");
    assert!(table.stderr.contains("hookbox guard add --all"), "{table:#?}");
    refused(&env.hookbox(["guard", "add", "--all"]), 2, &["git           add", "give --yes"]);
    assert!(!env.path("home/.hookbox").exists());

    let added = env.hookbox(["guard", "add", "--all", "--yes", "--json"]);
    done(&added);
    assert_eq!(values(&added, "name"), names());
    assert_eq!(values(&added, "change"), ["added"; 5]);
    assert_eq!(values(&added, "preset"), ["standard"; 5]);
    assert_eq!(listed(&env, "status"), ["current"; 5]);
    assert_eq!(env.read(SETTINGS), None, "the default needs no setting");
    assert!(env.list(&[]).iter().all(|hook| hook["status"] == "active"), "{:#?}", env.list(&[]));
    let call = json!({"tool_name": "bash", "tool_input": {"command": "git push --force"}});
    let verdict = env.event(&["before_tool_call"], &call);
    assert_eq!((&verdict["blocked"], &verdict["blocked_by"]), (&json!(true), &json!("git.wasm")));

    let again = env.hookbox(["guard", "add", "git", "git.wasm", "--json"]);
    done(&again);
    assert_eq!(values(&again, "change"), ["unchanged"], "nothing to do needs no question");
    refused(&env.hookbox(["guard", "add", "gti"]), 2, &["name of a guard", "supply-chain"]);
    refused(&env.hookbox(["guard", "add"]), 2, &["NAME"]);
}

#[test]
fn what_a_tool_prints_is_redacted_only_if_the_user_asks_for_it() {
    let env = TestEnvironment::new();
    done(&env.hookbox(["guard", "add", "secrets", "--yes"]));
    let event = json!({
        "tool_name": "bash", "tool_input": {"command": "make"},
        "tool_output": {"success": true, "result": "token ghp_0123456789abcdefghijklmnopqrstuvwxyz12"},
    });
    for (settings, status) in [("", "passed_over"), ("settings = { redact = true }\n", "changed")] {
        env.file(SETTINGS, format!("[hooks.\"secrets.wasm\"]\n{settings}"));
        let answer = env.event(&["after_tool_call", "--report"], &event);
        let hooks = answer["hooks"].as_array().unwrap();
        let secrets = hooks.iter().find(|it| it["name"] == "secrets.wasm").unwrap();
        assert_eq!(secrets["status"], status, "{answer:#}");
        assert_eq!(answer.to_string().contains("[REDACTED]"), status == "changed", "{answer:#}");
    }
}

#[test]
fn an_older_guard_is_updated_and_keeps_its_settings() {
    let env = with_older(&["git", "secrets"]);
    let mine = "# mine\n[hooks.\"git.wasm\".settings]\npreset = \"strict\" # really\n";
    env.file(SETTINGS, mine);
    assert_eq!(listed(&env, "status"), ["missing", "older", "missing", "older", "missing"]);
    assert_eq!(listed(&env, "version")[1], "0.0.9");
    let shown = env.hookbox(["guard", "list"]).stdout;
    assert!(shown.contains("git           older     strict"), "{shown}");
    let added = env.hookbox(["guard", "add", "git", "--yes", "--json"]);
    done(&added);
    assert_eq!(
        (values(&added, "change"), values(&added, "preset")),
        (vec![json!("updated")], vec![json!("strict")])
    );
    assert_eq!(env.read(SETTINGS).unwrap(), mine);
    assert_eq!(fs::read(env.path(path("git"))).unwrap(), Guard::named("git").unwrap().component);
    // The preset of one that is in place is changed as well.
    let added = env.hookbox(["guard", "add", "git", "--preset", "relaxed", "--yes", "--json"]);
    assert_eq!(
        (values(&added, "change"), values(&added, "preset")),
        (vec![json!("unchanged")], vec![json!("relaxed")])
    );
    assert_eq!(env.read(SETTINGS).unwrap(), mine.replace("strict", "relaxed"));
}

#[test]
fn a_file_that_hookbox_did_not_write_is_kept() {
    let env = with_older(&["secrets"]);
    env.file(&path("git"), "mine").file(&path("secrets"), "changed");
    assert_eq!(listed(&env, "status")[1], "changed");
    for words in
        [&["guard", "add", "git", "secrets", "--yes"][..], &["guard", "remove", "git", "secrets", "--yes"]]
    {
        refused(&env.hookbox(words), 1, &["~/.hookbox/hooks/git.wasm", "it stays", "--force"]);
    }
    assert_eq!(env.read(&path("git")).unwrap(), "mine");
    assert_eq!(env.read(&path("secrets")).unwrap(), "changed");
    let added = env.hookbox(["guard", "add", "git", "--force", "--yes", "--json"]);
    assert_eq!(values(&added, "change"), ["replaced"]);
    done(&env.hookbox(["guard", "remove", "secrets", "--force", "--yes"]));
    assert_eq!(listed(&env, "status"), ["missing", "current", "missing", "missing", "missing"]);
}

#[test]
fn a_preset_is_loosened_only_after_a_question() {
    let env = with_older(&["git", "secrets"]);
    done(&env.hookbox(["guard", "preset", "strict"]));
    assert_eq!(listed(&env, "preset"), ["standard", "strict", "standard", "strict", "standard"]);
    let strict = env.read(SETTINGS).unwrap();
    refused(&env.hookbox(["guard", "preset", "standard", "git"]), 2, &["strict → standard", "give --yes"]);
    assert_eq!(env.read(SETTINGS).unwrap(), strict);
    let output = env.hookbox(["guard", "preset", "standard", "git", "--yes", "--json"]);
    assert_eq!(output.json(), json!([{"name": "git", "preset": "standard", "before": "strict"}]));
    refused(
        &env.hookbox(["guard", "preset", "strict", "injection"]),
        2,
        &["you do not have", "hookbox guard add injection"],
    );
    refused(&env.hookbox(["guard", "preset", "loose"]), 2, &["relaxed, standard or strict"]);
    refused(&TestEnvironment::new().hookbox(["guard", "preset", "strict"]), 2, &["none of the guards"]);
    // A file that is not TOML stays.
    env.file(SETTINGS, "preset = ");
    for words in [&["preset", "strict"][..], &["add", "git", "--yes"], &["remove", "git", "--yes"], &["list"]]
    {
        refused(&env.hookbox([&["guard"], words].concat()), 1, &["line 1", "correct the file"]);
    }
    assert_eq!(env.read(SETTINGS).unwrap(), "preset = ");
    assert_eq!(env.read(&path("git")).unwrap(), "an older version");
}

#[test]
fn a_guard_is_tried_in_shadow_mode_until_it_is_enforced() {
    let env = TestEnvironment::new();
    refused(
        &env.hookbox(["guard", "add", "git", "--observe"]),
        2,
        &["records what it would stop", "give --yes"],
    );
    let added = env.hookbox(["guard", "add", "git", "--observe", "--yes", "--json"]);
    assert_eq!(
        (values(&added, "change"), values(&added, "mode")),
        (vec![json!("added")], vec![json!("observe")])
    );
    assert_eq!(env.read(SETTINGS).unwrap(), "[hooks.\"git.wasm\"]\nmode = \"observe\"\n");
    assert_eq!(listed(&env, "mode"), ["enforce", "observe", "enforce", "enforce", "enforce"]);
    let shown = env.hookbox(["guard", "list"]);
    assert!(shown.stderr.contains("stop nothing: git\n"), "{shown:#?}");
    assert!(shown.stderr.contains("hookbox guard enforce git\n"), "{shown:#?}");
    let call = json!({"tool_name": "bash", "tool_input": {"command": "git push --force"}});
    let seen = env.event(&["before_tool_call", "--report"], &call);
    assert_eq!((&seen["verdict"]["blocked"], &seen["hooks"][0]["would"]), (&json!(false), &json!("blocked")));

    // An update leaves the mode.
    done(&env.hookbox(["guard", "add", "git", "--yes"]));
    assert_eq!(listed(&env, "mode")[1], "observe");
    refused(&env.hookbox(["guard", "enforce", "secrets"]), 2, &["you do not have"]);
    let enforced = env.hookbox(["guard", "enforce", "--yes", "--json"]);
    assert_eq!(enforced.json(), json!([{"name": "git", "mode": "enforce", "before": "observe"}]));
    assert_eq!(env.event(&["before_tool_call"], &call)["blocked_by"], "git.wasm");
    done(&env.hookbox(["guard", "enforce", "--all"]));
    let again = env.hookbox(["guard", "enforce", "git"]);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), "git blocks already\n"));
}

#[test]
fn a_damaged_guard_is_told_once_in_an_event() {
    let env = with_older(&["git"]);
    env.file(&path("git"), "damaged");
    let words = "is not the guard that hookbox wrote";
    let call = json!({"tool_name": "bash", "tool_input": {"command": "ls"}});
    let run = env.hookbox_with(["run", "before_tool_call"], call.to_string());
    assert_eq!(run.stderr.matches(words).count(), 1, "{run:#?}");
    assert!(run.stdout.contains(words), "{run:#?}");
    let payload = json!({
        "hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "tool_input": {"command": "ls"},
    });
    let bridge = env.hookbox_with(["bridge", "claude"], payload.to_string());
    assert_eq!(bridge.stderr.matches(words).count(), 1, "{bridge:#?}");
    assert_eq!(bridge.stdout.matches(words).count(), 1, "{bridge:#?}");
}

#[test]
fn a_guard_is_removed_after_a_question_and_its_settings_only_if_asked() {
    let env = with_older(&["git", "secrets"]);
    done(&env.hookbox(["guard", "preset", "strict"]));
    refused(&env.hookbox(["guard", "remove", "git"]), 2, &["git           remove", "give --yes"]);
    assert!(env.path(path("git")).exists());
    let removed = env.hookbox(["guard", "remove", "git", "--yes", "--json"]);
    assert_eq!(
        (values(&removed, "change"), values(&removed, "settings")),
        (vec![json!("removed")], vec![json!("unchanged")])
    );
    assert!(!env.path(path("git")).exists() && env.path(path("secrets")).exists());
    assert!(env.read(SETTINGS).unwrap().contains("git.wasm"));
    done(&env.hookbox(["guard", "remove", "--all", "--settings", "--yes"]));
    assert_eq!(listed(&env, "status"), ["missing"; 5]);
    assert_eq!(env.read(SETTINGS).unwrap().trim(), "");
    let nothing = env.hookbox(["guard", "remove", "--all"]);
    done(&nothing);
    assert!(nothing.stderr.contains("nothing was removed"), "{nothing:#?}");
}

#[test]
fn install_brings_all_guards_unless_the_user_says_otherwise() {
    let env = TestEnvironment::new();
    let install = |more: &[&str]| {
        let mut command = env.command(crate::environment::program());
        env.run(command.args(["install", "claude"]).args(more), "")
    };
    let output = install(&["--dry-run"]);
    assert!(output.stderr.contains("would add the guards destructive, git"), "{output:#?}");
    for more in [&["--project"][..], &["--guards", "none"]] {
        done(&install(more));
        assert!(!env.path(DIRECTORY).exists(), "{more:?}");
    }
    refused(&install(&["--project", "--guards", "all"]), 2, &["cannot be used with"]);
    refused(&install(&["--guards", "all,git"]), 2, &["name of a guard"]);

    let output = install(&["--json"]);
    let rows = output.json();
    assert_eq!(rows[0]["guards_added"], json!(names()));
    assert!(rows[0]["guards"].as_array().unwrap().contains(&json!("git.wasm")), "{rows}");
    assert!(
        output.stderr.contains("loss of changes") && output.stderr.contains("--guards none"),
        "{output:#?}"
    );
    assert_eq!(listed(&env, "status"), ["current"; 5]);

    // Those who chose some are not asked again.
    done(&env.hookbox(["guard", "remove", "destructive", "--yes"]));
    let again = install(&["--preset", "strict", "--json"]);
    assert_eq!(again.json()[0]["guards_added"], json!([]));
    assert!(again.stderr.contains("hookbox guard preset strict"), "{again:#?}");
    let named = install(&["--guards", "destructive,git", "--preset", "strict", "--json"]);
    assert_eq!(named.json()[0]["guards_added"], json!(["destructive"]));
    assert_eq!(listed(&env, "preset"), ["strict", "strict", "standard", "standard", "standard"]);

    let output = env.hookbox(["uninstall", "claude"]);
    assert!(output.stderr.contains("hookbox guard remove --all"), "{output:#?}");
    assert_eq!(listed(&env, "status"), ["current"; 5]);
}
