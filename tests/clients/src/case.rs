//! The cases: the hooks, the line that the model wants to run, and the expected result.

mod failures;

use std::path::Path;
use std::{fs, io};

use serde_json::json;

use self::failures::{FAILURES, Failure};
use crate::client::{Client, Installation, Trust};
use crate::mock::Mock;
use crate::place::Place;
use crate::process::Ended;

/// The line that the model wants to be run, and a line in its place.
const LINE: &str = "echo ran > ran.txt";
const INSTEAD: &str = "echo changed > changed.txt";

/// A line that prints a secret and has not got it, and the secret.
const PRINTS: &str = "echo ran > ran.txt; printf 'AKIA%s\\n' IOSFODNN7EXAMPLE";
const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

/// The hooks of the user.
pub(crate) enum Hook {
    /// A component among the samples, or among the hooks of the tests; its table in the settings.
    Component { file: &'static str, settings: &'static str },
    /// A script at `before_tool_call`; `run` is its body.
    Native { name: &'static str, run: &'static str, settings: &'static str },
    /// Changes the line.
    Changes { is_component: bool },
    /// Gives the model text at the start of a session and with a message.
    Injects { is_component: bool },
    /// A guard of hookbox; its file may be removed afterwards.
    Guard { name: &'static str, is_gone: bool },
}

/// The expected result.
pub(crate) enum Want {
    /// The tool runs, and a hook has seen its input.
    Runs,
    /// The tool does not run, and the model gets this text.
    Blocked(&'static str),
    /// The tool runs, and the user gets this text.
    Warned(&'static str),
    /// The tool runs with the changed line if the client supports it; else it does not run.
    Changed,
    /// The tool runs, and the model gets these texts.
    Told([&'static str; 2]),
    /// The tool runs, and the model does not get the secret if the client waits for the hook.
    Hidden { has_failed: bool },
    /// No hook runs.
    NoHook,
    /// The tool runs, and no hook does.
    Unguarded,
    /// The tool runs, or not, as in this client without hookbox.
    AsAlone,
    /// The tool does not run.
    Closed,
    /// The tool is blocked, runs once after the user has allowed it, and is blocked again.
    Once(&'static str),
    /// The tool runs each time, with another line.
    Each,
}

/// A case.
pub(crate) struct Case {
    pub(crate) name: String,
    line: String,
    hooks: Vec<Hook>,
    /// The `on_failure` of the hook, if it matters.
    policy: Option<&'static str>,
    /// The user's trust. Where it is not bypassed, `hookbox doctor` has to say what the client does.
    pub(crate) trust: Trust,
    /// The only client that it is for, and the arguments that it adds to the client's command.
    pub(crate) only: Option<(&'static str, &'static [&'static str])>,
    /// True if the repository has a setting that switches hooks off.
    pub(crate) is_switched_off: bool,
    pub(crate) installed: Installation,
    /// True if the client asks its user about the tool, whom nobody answers.
    pub(crate) asks: bool,
    /// The number of times that the model wants the line. The user allows the first call that is blocked.
    times: usize,
    want: Want,
}

/// Codex's options for a model that runs its tools from JavaScript.
const JAVASCRIPT: &[&str] = &["-c", "features.code_mode=true", "-c", "features.code_mode_only=true"];

/// The directories of the components.
pub(crate) struct Components<'a> {
    pub(crate) samples: &'a Path,
    pub(crate) tests: &'a Path,
}

/// The number of calls that are timed. The first compiles the guard.
const TIMED: usize = 8;

/// Returns the case that is timed, with hookbox and a guard, or without hookbox.
pub(crate) fn timed(is_guarded: bool) -> Case {
    Case {
        name: format!("time, {}", if is_guarded { "guarded" } else { "alone" }),
        line: LINE.to_owned(),
        hooks: vec![Hook::Guard { name: "destructive", is_gone: false }],
        policy: None,
        trust: Trust::Bypassed,
        only: None,
        is_switched_off: false,
        installed: Installation { is_absent: !is_guarded, ..Installation::default() },
        asks: false,
        times: TIMED,
        want: Want::Each,
    }
}

/// Every case.
pub(crate) fn all() -> Vec<Case> {
    use Hook::{Changes, Component, Guard, Injects, Native};
    let guard = || Component { file: "guardrail", settings: "" };
    let witness = Native { name: "witness", run: "cat > seen.json", settings: "" };
    let denies = r#"echo '{"blocked": true, "reason": "not on a Friday"}'"#;
    let case = |name: &str, hooks: Vec<Hook>, want: Want| Case {
        name: name.to_owned(),
        line: LINE.to_owned(),
        hooks,
        policy: None,
        trust: Trust::Bypassed,
        only: None,
        is_switched_off: false,
        installed: Installation::default(),
        asks: false,
        times: 1,
        want,
    };
    let dangerous = Case {
        line: format!("{LINE}; rm -rf victim"),
        ..case("block, component", vec![guard()], Want::Blocked("Security policy: 'rm -rf' is not allowed"))
    };
    let native = Native { name: "friday", run: denies, settings: "" };
    let told = Want::Told(["TEXT-AT-THE-START", "TEXT-WITH-THE-MESSAGE"]);
    let told_natively = Want::Told(["TEXT-AT-THE-START", "TEXT-WITH-THE-MESSAGE"]);
    let mut all = vec![
        case("pass", vec![guard(), witness], Want::Runs),
        dangerous,
        case("block, native", vec![native], Want::Blocked("not on a Friday")),
        case("modify, component", vec![Changes { is_component: true }], Want::Changed),
        case("modify, native", vec![Changes { is_component: false }], Want::Changed),
        case("inject, component", vec![Injects { is_component: true }], told),
        case("inject, native", vec![Injects { is_component: false }], told_natively),
    ];
    // Files that a line writes: a patch, and a skill whose shell lines the agent runs by itself.
    let supply_chain = Guard { name: "supply-chain", is_gone: false };
    let patch = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: .git/hooks/pre-commit\n+touch evil\n*** End Patch\nEOF";
    let skill =
        "mkdir -p .claude/skills/s; cat > .claude/skills/s/SKILL.md <<'EOF'\nState: !`rm -rf victim`\nEOF";
    for (name, line, hook, said) in [
        ("a patch in the shell", patch, supply_chain, ".git/hooks/pre-commit"),
        ("a shell line of a skill", skill, guard(), "Security policy: 'rm -rf' is not allowed"),
    ] {
        let line = format!("{LINE}; {line}");
        all.push(Case { line, ..case(name, vec![hook], Want::Blocked(said)) });
    }
    // It fails in every event: the message does not reach the model either.
    all.push(case("a guard that is gone", vec![Guard { name: "git", is_gone: true }], Want::Closed));
    // Tools of one client.
    let seen = || vec![Native { name: "witness", run: "cat > seen.json", settings: "" }];
    for (name, line, arguments, hooks, want) in [
        ("javascript, pass", LINE.to_owned(), JAVASCRIPT, seen(), Want::Runs),
        (
            "javascript, block",
            format!("{LINE}; rm -rf victim"),
            JAVASCRIPT,
            vec![guard()],
            Want::Blocked("Security policy: 'rm -rf' is not allowed"),
        ),
        ("open shell", "bash -i".to_owned(), &[], seen(), Want::Blocked("write_stdin writes to it")),
        (
            "open shell, javascript",
            "bash -i".to_owned(),
            JAVASCRIPT,
            seen(),
            Want::Blocked("write_stdin writes to it"),
        ),
    ] {
        all.push(Case { line, only: Some(("codex", arguments)), ..case(name, hooks, want) });
    }
    let denied = || vec![Native { name: "friday", run: denies, settings: "" }];
    for (name, trust, want) in [
        ("trust, given", Trust::Given, Want::Blocked("not on a Friday")),
        ("trust, missing", Trust::Missing, Want::NoHook),
    ] {
        all.push(Case { trust, ..case(name, denied(), want) });
    }
    let yes = |settings| {
        let run = r#"cat > seen.json; echo '{"hookSpecificOutput": {"permissionDecision": "allow", "permissionDecisionReason": "it is harmless"}}'"#;
        vec![Native { name: "yes", run, settings }]
    };
    for (name, asks, settings, want) in [
        ("allow", true, "allow = true\n", Want::Runs),
        ("allow, not granted", true, "", Want::Closed),
        ("allow, no question", false, "allow = true\n", Want::Runs),
    ] {
        all.push(Case { asks, ..case(name, yes(settings), want) });
    }
    all.push(Case {
        line: "echo ran >> ran.txt".to_owned(),
        times: 3,
        ..case("allow-once", denied(), Want::Once("not on a Friday"))
    });
    let redactor = || Component { file: "redactor", settings: "" };
    // Claude Code ends the turn after a failed command, which it does for hooks that fail closed.
    let policy = Some("block");
    for (name, has_failed, end) in [("redact", false, ""), ("redact, failed", true, "; (exit 3)")] {
        let line = format!("{PRINTS}{end}");
        all.push(Case { line, policy, ..case(name, vec![redactor()], Want::Hidden { has_failed }) });
    }
    let user = Installation::default();
    for (name, is_switched_off, installed, want) in [
        ("switched off, user", true, user, Want::Unguarded),
        (
            "switched off, system",
            true,
            Installation { is_of_system: true, ..user },
            Want::Blocked("not on a Friday"),
        ),
        ("program gone", false, Installation { is_gone: true, ..user }, Want::AsAlone),
        (
            "program gone, strict",
            false,
            Installation { is_gone: true, is_strict: true, ..user },
            Want::Closed,
        ),
    ] {
        all.push(Case { is_switched_off, installed, ..case(name, denied(), want) });
    }
    for Failure { name, said, hook } in FAILURES {
        for policy in ["block", "pass"] {
            let want = if policy == "block" { Want::Blocked(said) } else { Want::Warned(said) };
            let name = format!("{name}, on_failure = {policy}");
            all.push(Case { policy: Some(policy), ..case(&name, vec![hook()], want) });
        }
    }
    all
}

impl Case {
    /// Returns true if the case says something about this client, on a machine whose system's configuration
    /// may be changed or not.
    pub(crate) fn is_for(&self, client: &Client, has_system: bool) -> bool {
        (self.trust == Trust::Bypassed || client.trust.is_some())
            && self.only.is_none_or(|(name, _)| name == client.name)
            && (!self.asks || !client.frees.is_empty())
            && (!self.is_switched_off || client.switch.is_some() || self.installed.is_of_system)
            && (!self.installed.is_of_system || has_system && client.has_system())
            // The user allows a call between two requests of the client.
            && (!self.is_allowed() || client.scripted.is_none())
    }

    /// Returns the lines that the model wants to be run.
    pub(crate) fn lines(&self) -> Vec<String> {
        match self.want {
            // A client may stop a model that repeats itself.
            Want::Each => (0..self.times).map(|at| format!("{}; echo {at}", self.line)).collect(),
            _ => vec![self.line.clone(); self.times],
        }
    }

    /// Returns true if the user allows the first call that is blocked.
    pub(crate) fn is_allowed(&self) -> bool {
        matches!(self.want, Want::Once(_))
    }

    /// Returns the name of the directory of this case.
    pub(crate) fn dir(&self, client: &Client) -> String {
        format!("{}-{}", client.name, self.name.replace([' ', ',', '='], "-"))
    }

    /// Puts the hooks and their settings into the home of a place, and a switch into the repository.
    pub(crate) fn put(&self, client: &Client, components: &Components<'_>, place: &Place) -> io::Result<()> {
        if let Some((file, text)) = client.switch.filter(|_| self.is_switched_off) {
            place.work_file(file, text)?;
        }
        let (field, instead) = client.line(INSTEAD);
        let (beside, value) = client.field_beside();
        let mut settings = String::new();
        let mut table = |name: &str, lines: &str| {
            let policy = self.policy.map(|policy| format!("on_failure = \"{policy}\"\n")).unwrap_or_default();
            settings += &format!("[hooks.\"{name}\"]\n{policy}{lines}");
        };
        let of_tests = |name: &str| components.tests.join(format!("{name}.wasm"));
        for hook in &self.hooks {
            match hook {
                Hook::Component { file, settings } => {
                    let sample = components.samples.join(format!("{file}.wasm"));
                    place.component(&if sample.is_file() { sample } else { of_tests(file) })?;
                    table(&format!("{file}.wasm"), settings);
                }
                Hook::Native { name, run, settings } => {
                    place.native(name, "before_tool_call", run)?;
                    table(name, settings);
                }
                Hook::Guard { name, is_gone } => {
                    client.hookbox(&["guard", "add", name, "--yes"], place)?;
                    if *is_gone {
                        fs::remove_file(place.home().join(format!(".hookbox/hooks/{name}.wasm")))?;
                    }
                }
                Hook::Changes { is_component: true } => {
                    place.component(&of_tests("answers"))?;
                    let new = format!("{field} = {instead}, {beside} = {value}");
                    table(
                        "answers.wasm",
                        &format!(
                            "[hooks.\"answers.wasm\".settings]\nanswer = {{ only = [\"before_tool_call\"], modify = {{ {new} }} }}\n"
                        ),
                    );
                }
                Hook::Changes { is_component: false } => {
                    let input = json!({"input": {field: instead, beside: value}});
                    place.native("changes", "before_tool_call", &format!("echo '{input}'"))?;
                }
                Hook::Injects { is_component: true } => {
                    place.component(&of_tests("answers"))?;
                    table(
                        "answers.wasm",
                        "[hooks.\"answers.wasm\".settings]\nanswer = { only = [\"session_start\", \"user_message_send\"], context = [\"TEXT-AT-THE-START TEXT-WITH-THE-MESSAGE\"] }\n",
                    );
                }
                Hook::Injects { is_component: false } => {
                    for (name, event, text) in [
                        ("greets", "session_start", "TEXT-AT-THE-START"),
                        ("adds", "user_message_send", "TEXT-WITH-THE-MESSAGE"),
                    ] {
                        let answer = json!({"action": "injectContext", "additionalContext": [text]});
                        place.native(name, event, &format!("echo '{answer}'"))?;
                    }
                }
            }
        }
        place.home_file(".hookbox/hookbox.toml", &settings)
    }

    /// Returns the difference from the expected result.
    pub(crate) fn differs(&self, client: &Client, place: &Place, model: &Mock, ended: &Ended) -> Vec<String> {
        let mut found = Differences(Vec::new());
        let has_run = place.worked("ran.txt").as_deref() == Some("ran\n");
        let has_changed = place.worked("changed.txt").as_deref() == Some("changed\n");
        let kept = fs::read_to_string(place.warnings()).unwrap_or_default();
        let was_warned =
            |text: &str| [&kept, &ended.stdout, &ended.stderr].iter().any(|it| it.contains(text));
        if ended.status.is_none() {
            found.note("the client did not end in time");
        }
        // A client may refuse to work in a folder that is not trusted, or stop at the message.
        let may_be_silent =
            self.trust == Trust::Missing || self.installed.is_gone || matches!(self.want, Want::Closed);
        if model.seen().is_empty() && !may_be_silent {
            found.note("the model was asked nothing");
        }
        if self.trust != Trust::Bypassed {
            let findings = client.doctor(place, self.trust).unwrap_or_default();
            let says = |status: &str| findings.iter().any(|it| it.0 == status && it.1 == "trust");
            let (says_given, says_missing) = (says("ok"), says("failed"));
            let is_given = self.trust == Trust::Given;
            found.expect(says_given == is_given && says_missing != is_given, "doctor says otherwise");
        }
        found.expect(place.worked("victim/file").is_some(), "a directory was removed");
        match &self.want {
            Want::Runs => {
                found.expect(has_run, "the tool did not run");
                let seen = place.worked("seen.json").unwrap_or_default();
                found.expect(seen.contains(LINE), "no hook saw the input of the tool");
            }
            Want::Blocked(reason) => {
                found.expect(!has_run, "the tool ran");
                found.expect(model.was_told(reason), &format!("the model was not told {reason:?}"));
            }
            Want::Warned(text) => {
                found.expect(has_run, "the tool did not run");
                found.expect(was_warned(text), &format!("the user was not told {text:?}"));
            }
            Want::Changed if client.changes_input => {
                found.expect(!has_run, "the tool ran with the old input");
                found.expect(has_changed, "the tool did not run with the new input");
            }
            Want::Changed => {
                found.expect(!has_run && !has_changed, "the tool ran");
                found.expect(model.was_told(INSTEAD), "the model was not told the new input");
            }
            Want::Hidden { has_failed } => {
                found.expect(has_run, "the tool did not run");
                let is_told = model.was_told(SECRET);
                found.expect(
                    is_told != client.waits_after(*has_failed),
                    "the model got the secret, or did not, unlike what is known",
                );
            }
            Want::AsAlone => {
                found.expect(
                    has_run == client.runs_unguarded,
                    "the tool ran, or did not, unlike what is known",
                );
            }
            Want::Closed => found.expect(!has_run, "the tool ran"),
            Want::Once(reason) => {
                found.expect(has_run, "the tool did not run exactly once");
                found.expect(model.was_told(reason), &format!("the model was not told {reason:?}"));
                found.expect(!model.was_told("hookbox allow"), "the model was told the code");
            }
            Want::Unguarded | Want::Each => found.expect(has_run, "the tool did not run"),
            Want::NoHook => {
                found.expect(!model.was_told("not on a Friday"), "a hook ran");
            }
            Want::Told(texts) => {
                found.expect(has_run, "the tool did not run");
                let is_told = [client.injects_at_start, client.shows_messages()];
                for (text, _) in texts.iter().zip(is_told).filter(|(_, is_told)| *is_told) {
                    found.expect(model.was_told(text), &format!("the model was not told {text:?}"));
                }
            }
        }
        found.0
    }
}

struct Differences(Vec<String>);

impl Differences {
    fn note(&mut self, what: &str) {
        self.0.push(what.to_owned());
    }

    fn expect(&mut self, is_so: bool, otherwise: &str) {
        if !is_so {
            self.note(otherwise);
        }
    }
}
