//! Allowances: a blocked tool call that the user lets through with `hookbox allow`.

use std::fs;

use hookbox::manager::Manager;
use hookbox::session::{Session, ToolDecision, ToolVerdict};
use hookbox::trust::{AllowanceFile, Code, Term, TrustPolicy, now_ms};
use hookbox::{EventName, Outcome, Status, ToolCall};
use hookbox_agents::Agent;
use hookbox_agents::agent::{EventKind, Printed};
use serde_json::{Value, json};

use crate::environment::{Output, TestEnvironment, program};

const DATA: &str = "home/.local/share/hookbox";
const FILE: &str = "home/.local/share/hookbox/allowances.json";
const GUARD: &str = "home/.hookbox/hooks/guard.rules.toml";

/// Rules that block a command.
fn rules(command: &str) -> String {
    format!("[[rule]]\ncommand = \"{command}\"\nanswer = \"block\"\nreason = \"No {command}.\"\n")
}

/// A place in which a guard of the user blocks `make`.
fn place() -> TestEnvironment {
    let env = TestEnvironment::new();
    env.file(GUARD, rules("make"));
    env
}

async fn call(session: &Session, line: &str) -> ToolVerdict {
    session.before_tool_call(ToolCall::new("bash", json!({"command": line}))).await
}

/// Returns the code of a block.
#[track_caller]
fn code(verdict: &ToolVerdict) -> Option<String> {
    match &verdict.decision {
        ToolDecision::Block(ruling) => ruling.code.clone(),
        other => panic!("expected a block, found {other:?}"),
    }
}

fn runs(verdict: &ToolVerdict) -> bool {
    verdict.decision.permitted().is_some()
}

/// Allows a blocked call as the command does.
#[track_caller]
fn allow(env: &TestEnvironment, code: &str, term: Term) {
    let (file, code): (_, Code) = (AllowanceFile::new(env.path(DATA)), code.parse().unwrap());
    file.update(|all| all.grant(&code, term, now_ms())).unwrap().unwrap();
}

#[tokio::test]
async fn a_blocked_call_that_the_user_allows_runs_once() {
    let env = place();
    let manager = env.builder().build().await;
    let session = manager.session("s");
    let blocked = call(&session, "make all").await;
    assert_eq!(blocked.report.hooks[0].status, Status::Blocked);
    let first = code(&blocked).unwrap();
    assert_eq!(code(&call(&session, "make all").await).unwrap(), first, "the same call, the same code");
    assert!(!format!("{blocked:?}").replace(&format!("Some(\"{first}\")"), "").contains(&first));

    allow(&env, &first, Term::Once);
    for other in ["make", "make  all", "make all "] {
        assert!(!runs(&call(&session, other).await), "{other}");
    }
    assert!(!runs(&call(&manager.session("t"), "make all").await), "another session");
    assert!(!runs(&call(&session.clone().cwd("/"), "make all").await), "another directory");
    let passed = call(&session, "make all").await;
    assert!(runs(&passed), "{passed:?}");
    assert_eq!(passed.report.hooks[0].status, Status::Allowed);
    assert_eq!(passed.warnings[0].text, "guard.rules.toml blocks this call, and the user allowed it once");
    let again = call(&session, "make all").await;
    assert_ne!(code(&again).unwrap(), first, "the second use is refused");
}

#[tokio::test]
async fn an_allowance_for_a_time_or_always_stays() {
    let env = place();
    let session = env.builder().build().await.session("s");
    for term in [Term::For(600_000), Term::AlwaysHere, Term::Always] {
        let code = code(&call(&session, "make").await).unwrap();
        allow(&env, &code, term);
        for _ in 0..2 {
            let passed = call(&session, "make").await;
            assert!(runs(&passed), "{term:?}");
            assert!(passed.warnings[0].text.ends_with("the user allowed it"), "{passed:?}");
        }
        let file = AllowanceFile::new(env.path(DATA));
        assert!(file.update(|all| all.remove(&code.parse().unwrap())).unwrap().is_some());
    }
    assert!(!runs(&call(&session, "make").await));
}

#[tokio::test]
async fn a_guard_that_changed_blocks_again() {
    let env = place();
    let session = env.builder().build().await.session("s");
    allow(&env, &code(&call(&session, "make").await).unwrap(), Term::Always);
    assert!(runs(&call(&session, "make").await));
    env.file(GUARD, rules("make") + "# changed\n");
    let session = env.builder().build().await.session("s");
    assert!(code(&call(&session, "make").await).is_some());
}

#[tokio::test]
async fn every_guard_that_blocks_has_to_be_allowed_and_none_is_used_up_before() {
    let env = place();
    env.file("home/.hookbox/hooks/second.rules.toml", rules("make"));
    let session = env.builder().build().await.session("s");
    let first = call(&session, "make").await;
    let status =
        |verdict: &ToolVerdict| -> Vec<Status> { verdict.report.hooks.iter().map(|it| it.status).collect() };
    assert_eq!(status(&first), [Status::Blocked, Status::Skipped]);
    allow(&env, &code(&first).unwrap(), Term::Once);
    let second = call(&session, "make").await;
    assert_eq!(status(&second), [Status::Allowed, Status::Blocked]);
    assert!(second.warnings.is_empty(), "{second:?}");
    allow(&env, &code(&second).unwrap(), Term::Once);
    let passed = call(&session, "make").await;
    assert_eq!((status(&passed), passed.warnings.len()), (vec![Status::Allowed; 2], 2));
    assert!(!runs(&call(&session, "make").await));
    assert_eq!(AllowanceFile::new(env.path(DATA)).read().unwrap().granted, []);
}

#[tokio::test]
async fn an_allowance_is_for_the_input_that_the_guard_saw() {
    let env = place();
    env.native(
        "home/.hookbox/hooks/changer",
        "before_tool_call",
        r#"echo '{"input": {"command": "make changed"}}'"#,
    );
    env.file("home/.hookbox/hookbox.toml", "[hooks.changer]\npriority = 1\n");
    let session = env.builder().build().await.session("s");
    let code = code(&call(&session, "ls").await).unwrap();
    let held = AllowanceFile::new(env.path(DATA)).read().unwrap();
    assert_eq!(held.pending[0].shown, r#"{"command":"make changed"}"#);
    allow(&env, &code, Term::Once);
    let passed = call(&session, "ls").await;
    let input = passed.decision.permitted().unwrap().input.clone();
    assert_eq!(input.value(), &json!({"command": "make changed"}));
}

#[tokio::test]
async fn a_guard_that_failed_is_passed_once_for_its_cause() {
    let env = TestEnvironment::new();
    env.native("home/.hookbox/hooks/guard", "before_tool_call", "exit 3");
    env.file("home/.hookbox/hookbox.toml", "[hooks.guard]\non_failure = \"block\"\n");
    let session = env.builder().build().await.session("s");
    let code = code(&call(&session, "ls").await).unwrap();
    allow(&env, &code, Term::Once);
    let passed = call(&session, "ls").await;
    assert!(runs(&passed));
    assert!(passed.warnings.iter().any(|it| it.text.contains("guard failed (exit)")), "{passed:?}");
    assert!(!runs(&call(&session, "ls").await));
}

#[tokio::test]
async fn only_blocks_of_the_users_hooks_have_a_code() {
    let env = place();
    env.file("repo/.hookbox/hooks/theirs.rules.toml", rules("cargo"));
    let build = |env: &TestEnvironment| {
        env.builder().builtins(true).on("code", EventName::BeforeToolCall, |event| async move {
            let line = event.tool_call().and_then(|it| it.facts.command.clone());
            Ok(if line.as_deref() == Some("npm") { Outcome::block("no") } else { Outcome::pass() })
        })
    };
    let manager = build(&env).build().await;
    let session = manager.session("s");
    for (line, has_code) in [("make", true), ("cargo", false), ("npm", false), ("hookbox trust x", false)] {
        assert_eq!(code(&call(&session, line).await).is_some(), has_code, "{line}");
    }
    let trusting = build(&env).trust(TrustPolicy::All).build().await.session("s");
    assert!(code(&call(&trusting, "cargo").await).is_some());
    let off = build(&env).allowances(false).build().await.session("s");
    assert_eq!(code(&call(&off, "make").await), None);
    let without_data = build(&env).data(None).build().await.session("s");
    assert_eq!(code(&call(&without_data, "make").await), None);
    let other = session.fire(hookbox::EventData::UserMessageSend { message: Some("make".into()) }).await;
    assert_eq!(other.verdict.block, None);
    assert!(
        Manager::empty()
            .session("s")
            .before_tool_call(ToolCall::new("bash", json!({})))
            .await
            .warnings
            .is_empty()
    );
}

#[tokio::test]
async fn an_input_that_is_too_long_to_be_read_has_no_code() {
    let env = place();
    let session = env.builder().build().await.session("s");
    let verdict = call(&session, &format!("make {}", "x".repeat(20_000))).await;
    assert_eq!(code(&verdict), None);
    assert!(verdict.warnings[0].text.contains("takes no input of more than"), "{:?}", verdict.warnings);
}

#[tokio::test]
async fn sessions_at_the_same_time_use_an_allowance_once() {
    let env = place();
    let manager = env.builder().build().await;
    let session = manager.session("s");
    allow(&env, &code(&call(&session, "make").await).unwrap(), Term::Once);
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let session = session.clone();
            tokio::spawn(async move { runs(&call(&session, "make").await) })
        })
        .collect();
    let mut passed = 0;
    for call in calls {
        passed += u32::from(call.await.unwrap());
    }
    assert_eq!(passed, 1);
}

#[tokio::test]
async fn a_broken_or_foreign_file_allows_nothing_and_is_reported() {
    let env = place();
    let session = env.builder().build().await.session("s");
    allow(&env, &code(&call(&session, "make").await).unwrap(), Term::Always);
    assert!(runs(&call(&session, "make").await));
    let whole = env.read(FILE).unwrap();
    for (text, mode) in [("{", 0o600), (whole.as_str(), 0o622)] {
        env.file(FILE, text).mode(FILE, mode);
        let verdict = call(&session, "make").await;
        assert_eq!(code(&verdict), None);
        assert!(verdict.warnings[0].text.contains("allowances.json"), "{:?}", verdict.warnings);
        let listed = env.hookbox(["list"]);
        for words in ["allowances.json: ", "nothing is allowed by it", "hint: move it aside: mv "] {
            assert!(listed.stderr.contains(words), "{words}: {listed:#?}");
        }
        let shown = env.hookbox(["allow"]);
        assert_eq!(shown.code, Some(2), "{shown:#?}");
        assert!(shown.stderr.contains("hint: move it aside"), "{shown:#?}");
        env.mode(FILE, 0o600);
    }
    env.file(FILE, whole);
    assert!(runs(&call(&session, "make").await));
}

fn event(line: &str, session: Option<&str>) -> Value {
    let mut event = json!({"tool_name": "bash", "tool_input": {"command": line}});
    if let Some(session) = session {
        event["conv_id"] = session.into();
    }
    event
}

fn run(env: &TestEnvironment, event: &Value) -> Output {
    env.hookbox_with(["run", "before_tool_call"], event.to_string())
}

/// Returns the code in a note for the user.
#[track_caller]
fn noted(output: &Output) -> String {
    let (_, rest) = output.stderr.split_once("hookbox allow ").unwrap_or_else(|| panic!("{output:#?}"));
    rest.chars().take_while(char::is_ascii_lowercase).collect()
}

#[test]
fn the_program_shows_the_code_to_the_user_and_the_command_allows_the_call() {
    let env = place();
    for session in [Some("s"), None] {
        let event = event("make \u{1b}[2J all", session);
        let blocked = run(&env, &event);
        let code = noted(&blocked);
        assert_eq!(blocked.json()["blocked"], true);
        assert!(!blocked.stdout.contains(&code), "{blocked:#?}");
        let listed = env.hookbox(["allow", "--json"]).json();
        assert_eq!((&listed[0]["code"], &listed[0]["guard"]), (&json!(code), &json!("guard.rules.toml")));
        assert_eq!(listed[0]["session"], json!(session));
        assert!(env.hookbox(["allow"]).stdout.contains(&code));

        let no_terminal = env.hookbox(["allow", &code]);
        assert_eq!(no_terminal.code, Some(2), "{no_terminal:#?}");
        assert!(no_terminal.stderr.contains("expected a terminal"), "{no_terminal:#?}");
        assert_eq!(run(&env, &event).json()["blocked"], true);
        let allowed = env.hookbox(["allow", &code, "--yes"]);
        assert_eq!(
            (allowed.code, allowed.stdout.as_str()),
            (Some(0), "allowed once: bash\n"),
            "{allowed:#?}"
        );
        for words in ["make ", "\\u001b", "guard.rules.toml (sha256:", "No make.", "session"] {
            assert!(allowed.stderr.contains(words), "{words}: {allowed:#?}");
        }
        assert!(!allowed.stderr.contains('\u{1b}'));
        assert_eq!(env.hookbox(["allow", "--list", "--json"]).json()[0]["term"], "once");

        let explained = env.hookbox(["explain", "before_tool_call", "-"]);
        assert!(!explained.stdout.contains(&code));
        let passed = run(&env, &event);
        assert_eq!(passed.json()["blocked"], false, "{passed:#?}");
        assert!(passed.stderr.contains("the user allowed it once"), "{passed:#?}");
        assert_eq!(env.hookbox(["allow", "--list", "--json"]).json(), json!([]));
        assert_eq!(run(&env, &event).json()["blocked"], true, "the second use is refused");
    }
    let as_hook =
        env.hookbox_with(["run", "before_tool_call", "--exit-code"], event("make", None).to_string());
    assert_eq!(as_hook.code, Some(2));
    assert!(!as_hook.stderr.contains("hookbox allow"), "an agent reads this: {as_hook:#?}");
    let report = env.event(&["before_tool_call", "--report"], &event("make", None));
    assert_eq!(report["hooks"][0]["status"], "blocked");
}

#[test]
fn an_explanation_neither_uses_nor_makes_an_allowance() {
    let env = place();
    let event = event("make", None);
    let code = noted(&run(&env, &event));
    assert_eq!(env.hookbox(["allow", &code, "--yes"]).code, Some(0));
    let before = env.read(FILE);
    for line in ["make", "make other"] {
        let explained = env.hookbox(["explain", line]);
        assert_eq!(explained.code, Some(0), "{explained:#?}");
        let all = explained.stdout + &explained.stderr;
        assert!(all.contains("No make.") && !all.contains(&code) && !all.contains("hookbox allow"), "{all}");
        let allowed =
            "Passes.\nguard.rules.toml blocks this call, and you allowed it. This look used up nothing.";
        assert_eq!(all.contains(allowed), line == "make", "{all}");
        let report = &env.hookbox(["explain", line, "--json"]).json()["hooks"][0]["report"];
        assert_eq!(report["status"] == "allowed", line == "make", "{report}");
    }
    let named = json!({"conv_id": "s", "tool_name": "bash", "tool_input": {"command": "make"}}).to_string();
    let explained = env.hookbox_with(["explain", "before_tool_call", "-"], named);
    assert!(explained.stdout.contains("Blocked by guard.rules.toml"), "another session: {explained:#?}");
    let listed = env.hookbox(["list", "--json"]);
    assert!(listed.json().is_array() && listed.stderr.contains("1 call is allowed although"), "{listed:#?}");
    assert_eq!(env.read(FILE), before);
    assert_eq!(run(&env, &event).json()["blocked"], false);
    let listed = env.hookbox(["list"]);
    assert!(!listed.stderr.contains("allowed"), "{listed:#?}");
}

#[test]
fn what_is_allowed_is_listed_and_taken_back() {
    let env = place();
    let mut codes = Vec::new();
    for (line, options, term, here) in [
        ("make a", &["--for", "10m"][..], "for", true),
        ("make b", &["--always", "--here"], "always", true),
        ("make c", &["--always"], "always", false),
        ("make d", &["--once"], "once", true),
        ("make e", &["--for", "24h"], "for", true),
    ] {
        let code = noted(&run(&env, &event(line, None)));
        let record = env.hookbox([&["allow", &code, "--yes", "--json"], options].concat()).json();
        assert_eq!((&record["term"], &record["here"]), (&json!(term), &json!(here)));
        assert_eq!(record["until"].is_null(), term == "always");
        assert_eq!(record["input"], json!({"command": line}));
        codes.push(code);
    }
    let listed = env.hookbox(["allow", "--list"]).stdout;
    assert!(codes.iter().all(|code| listed.contains(code)), "{listed}");
    let directory = env.path("repo");
    let directory = directory.to_str().unwrap();
    for words in
        ["always, in this directory", "always, in any directory", "once, until ", "DIRECTORY", directory]
    {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let removed = env.hookbox(["allow", "--remove", &codes[1]]);
    assert_eq!(removed.stdout, format!("revoked {}: bash\n", codes[1]), "{removed:#?}");
    assert_eq!(run(&env, &event("make b", None)).json()["blocked"], true);
    assert_eq!(run(&env, &event("make c", None)).json()["blocked"], false);
    assert_eq!(env.hookbox(["allow", "--remove", "--all", "--json"]).json().as_array().unwrap().len(), 4);
    assert_eq!(run(&env, &event("make c", None)).json()["blocked"], true);
}

#[test]
fn without_a_terminal_no_code_is_shown_or_used() {
    // The tests beside this one have temporary data, which needs none.
    let env = TestEnvironment::new().variable("XDG_DATA_HOME", "/nonexistent/data");
    for args in [&["allow"][..], &["allow", "abcdkmns", "--yes"]] {
        let output = env.hookbox(args);
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{output:#?}");
        assert!(output.stderr.starts_with("error: this needs a human: "), "{output:#?}");
    }
}

#[test]
fn a_wrong_command_line_is_an_error_with_a_hint_and_allows_nothing() {
    let env = place();
    let code = noted(&run(&env, &event("make", None)));
    let other = if code.starts_with('a') { "bbbbbbbb" } else { "aaaaaaaa" };
    for (args, words) in [
        (&["allow", other, "--yes"][..], "no blocked call has this code"),
        (&["allow", "nonsense!", "--yes"], "expected a code: 8 of the letters"),
        (&["allow", &code, "--for", "soon", "--yes"], "expected a time"),
        (&["allow", &code, "--for", "0s", "--yes"], "expected a time"),
        (&["allow", &code, "--for", "0h", "--yes"], "expected a time"),
        (&["allow", &code, "--for", "25h", "--yes"], "at most 24 hours"),
        (&["allow", &code, "--for", "99999m", "--yes"], "at most 24 hours"),
        (&["allow", &code, "--here", "--yes"], "--always"),
        (&["allow", &code, "--always", "--for", "1m", "--yes"], "cannot be used with"),
        (&["allow", &code, "--list"], "cannot be used with"),
        (&["allow", "--always"], "required"),
        (&["allow", "--all"], "--remove"),
        (&["allow", "--remove"], "expected a code or --all"),
        (&["allow", "--remove", &code], "allows nothing"),
    ] {
        let output = env.hookbox(args);
        assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""), "{args:?}: {output:#?}");
        assert!(output.stderr.contains(words) && output.stderr.contains("hint: "), "{args:?}: {output:#?}");
    }
    // The time of the code is over.
    let text = env.read(FILE).unwrap();
    let when = AllowanceFile::new(env.path(DATA)).read().unwrap().pending[0].when_ms;
    env.file(FILE, text.replace(&when.to_string(), &(when - 600_000).to_string()));
    let expired = env.hookbox(["allow", &code, "--yes"]);
    assert_eq!(expired.code, Some(2), "{expired:#?}");
    assert!(expired.stderr.contains("or it is older than 10 minutes"), "{expired:#?}");
    assert_eq!(run(&env, &event("make", None)).json()["blocked"], true);
}

#[test]
fn no_hook_and_no_agent_lists_or_allows() {
    let env = place();
    let code = noted(&run(&env, &event("make", None)));
    let before = fs::read(env.path(FILE)).unwrap();
    for (name, value, exit) in [("HOOKBOX_DEPTH", "1", 2), ("CLAUDECODE", "1", 1), ("CODEX_SANDBOX", "x", 1)]
    {
        for args in [
            &["allow"][..],
            &["allow", "--list"],
            &["allow", &code, "--yes"],
            &["allow", "--remove", "--all"],
        ] {
            let output = env.run(env.command(program()).args(args).env(name, value), "y\n");
            assert_eq!(
                (output.code, output.stdout.as_str()),
                (Some(exit), ""),
                "{name} {args:?}: {output:#?}"
            );
            assert!(!output.stderr.contains("make"), "{output:#?}");
        }
    }
    assert_eq!(fs::read(env.path(FILE)).unwrap(), before);
}

#[test]
fn below_an_agent_no_code_is_printed() {
    for (name, value) in [("CLAUDECODE", "1"), ("CODEX_SANDBOX", "x")] {
        let env = place().variable(name, value);
        let blocked = run(&env, &event("make", None));
        assert_eq!(blocked.json()["blocked"], true, "{blocked:#?}");
        assert!(!blocked.stderr.contains("hookbox allow"), "{name}: {blocked:#?}");
    }
    let env = place().variable("HOOKBOX_DEPTH", "1");
    let in_a_hook = run(&env, &event("make", None));
    assert!(!in_a_hook.stderr.contains("hookbox allow"), "{in_a_hook:#?}");
    assert!(!env.path(FILE).exists());
}

#[test]
fn in_every_agent_a_blocked_call_is_allowed_once_and_no_model_reads_the_code() {
    for agent in Agent::ALL {
        let env = place();
        let own = agent.event(agent.names_of(EventKind::BeforeToolCall).next().unwrap()).unwrap();
        let payload = agent.shell_call(own, "make all", &env.path("repo"), "s").to_string();
        let bridge = || {
            let output = env.hookbox_with(["bridge", agent.as_str(), "--event", own.name], &payload);
            let printed = Printed { exit_code: output.code, stdout: &output.stdout, stderr: &output.stderr };
            (agent.effect(own, printed).is_blocked(), output)
        };
        let (is_blocked, blocked) = bridge();
        assert!(is_blocked, "{agent}: {blocked:#?}");
        let held = AllowanceFile::new(env.path(DATA)).read().unwrap();
        assert_eq!(held.pending.len(), 1, "{agent}");
        let code = held.pending[0].code.to_string();

        // The model reads all of standard output but this field, and no line of standard error with exit code 0.
        let mut answer: Value = match blocked.code {
            Some(2) => serde_json::json!({ "reason": blocked.stderr }),
            _ => serde_json::from_str(&blocked.stdout).unwrap(),
        };
        let told = answer.as_object_mut().unwrap().shift_remove("systemMessage").unwrap_or_default();
        assert!(!answer.to_string().contains(&code), "{agent}: {blocked:#?}");
        let place = agent.code_place();
        assert_eq!(told.to_string().contains(&code), place == Some("systemMessage"), "{agent}: {blocked:#?}");
        assert_eq!(blocked.stderr.contains(&code), place == Some("standard error"), "{agent}: {blocked:#?}");

        allow(&env, &code, Term::Once);
        let (is_blocked, passed) = bridge();
        assert!(!is_blocked, "{agent}: {passed:#?}");
        assert!(passed.stderr.contains("the user allowed it once"), "{agent}: {passed:#?}");
        assert!(bridge().0, "{agent}: the second use is refused");
    }
}

#[test]
fn the_doctor_leaves_no_code_and_no_record() {
    let env = place();
    env.file("home/.hookbox/hookbox.toml", "[journal]\nenabled = true\n");
    let agent = Agent::Claude;
    let own = agent.event("PreToolUse").unwrap();
    let payload = agent.shell_call(own, "make", &env.path("repo"), "hookbox-doctor");
    let blocked = env.hookbox_with(["bridge", "claude"], payload.to_string());
    assert!(blocked.stdout.contains("No make."), "{blocked:#?}");
    assert!(!env.path(FILE).exists());
    let log = env.hookbox(["log"]);
    assert!(!log.stdout.contains("make"), "{log:#?}");
}
