//! `hookbox bridge AGENT`, end to end: what it answers is judged by what the real agents do with an answer.

mod afterwards;
mod approve;
mod failed_calls;
mod failures;
mod follow_ups;
mod looks;
mod payloads;
mod permission;
mod places;
mod process;
mod twice;
mod unseen;
mod words;

use std::ffi::OsString;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use hookbox::EventName;
use hookbox_agents::agent::{Agent, Effect, EventKind, Printed};
use serde_json::Value;

use crate::answers::Backend;
use crate::environment::{Output, TestEnvironment};

/// Every agent and its names of `before_tool_call`.
pub(crate) static BEFORE: LazyLock<Vec<(Agent, &str)>> = LazyLock::new(|| {
    let names = |agent: Agent| agent.names_of(EventKind::BeforeToolCall).map(move |name| (agent, name));
    Agent::ALL.into_iter().flat_map(names).collect()
});

/// Returns true if the agent reads no answer but exit code 2, and then gives its model standard error.
pub(crate) fn reads_exit_codes(agent: Agent) -> bool {
    agent == Agent::Kiro
}

/// A place with a guard of the user's that gives this answer before a tool call, and has this `on_failure`.
fn guard(answer: &Value, policy: &str) -> TestEnvironment {
    let env = TestEnvironment::new();
    let settings = format!("on_failure = \"{policy}\"");
    Backend::Native.hook(&env, "home/.hookbox", "guard", &EventName::BeforeToolCall, answer, &settings);
    env
}

/// Returns an agent's payload before its shell tool runs a line.
pub(crate) fn call(env: &TestEnvironment, agent: Agent, event: &str, line: &str) -> Value {
    agent.shell_call(agent.event(event).unwrap(), line, &env.path("repo"), "s1")
}

/// Returns a call that is the first of its session: all problems are news.
pub(crate) fn first_call(env: &TestEnvironment, agent: Agent, event: &str, line: &str) -> Value {
    static SESSIONS: AtomicUsize = AtomicUsize::new(2);
    let session = format!("s{}", SESSIONS.fetch_add(1, Ordering::Relaxed));
    agent.shell_call(agent.event(event).unwrap(), line, &env.path("repo"), &session)
}

pub(crate) fn args(agent: Agent, event: Option<&str>, more: &[&str]) -> Vec<OsString> {
    let event = event.map(|event| ["--event", event]).into_iter().flatten();
    ["bridge", agent.as_str()].into_iter().chain(event).chain(more.iter().copied()).map(Into::into).collect()
}

/// Returns the event for a command line, if the payloads of an agent do not name theirs.
pub(crate) fn needed(agent: Agent, event: &str) -> Option<&str> {
    let usual = agent.names_of(EventKind::BeforeToolCall).next().and_then(|name| agent.event(name)).unwrap();
    let payload = agent.shell_call(usual, "ls", Path::new("/"), "s1");
    Some(event).filter(|_| payload.get("hook_event_name").is_none())
}

pub(crate) fn effect(agent: Agent, event: &str, output: &Output) -> Effect {
    let printed = Printed { exit_code: output.code, stdout: &output.stdout, stderr: &output.stderr };
    agent.effect(agent.event(event).unwrap(), printed)
}

#[track_caller]
fn blocked(agent: Agent, event: &str, output: &Output, what: &str) -> String {
    match effect(agent, event, output) {
        // The one agent that says nothing of exit code 2 to the model is none of ours to change.
        Effect::Blocked(reason) => reason,
        other => panic!("{what} in {agent} ({event}) is no block: {other:?}: {output:#?}"),
    }
}

/// The answer is one JSON object, or nothing where the agent takes nothing for an answer.
#[track_caller]
fn passed(agent: Agent, event: &str, output: &Output, what: &str) -> Value {
    assert_eq!(output.code, Some(0), "{what} in {agent}: {output:#?}");
    assert!(matches!(effect(agent, event, output), Effect::Runs(_)), "{what} in {agent}: {output:#?}");
    if output.stdout.is_empty() && agent.nothing().stdout.is_empty() {
        return Value::Null;
    }
    assert_eq!(output.stdout.lines().count(), 1, "{what} in {agent}: {output:#?}");
    serde_json::from_str(&output.stdout).unwrap()
}

#[test]
fn the_payload_of_a_probe_has_the_fields_of_a_real_one() {
    let env = TestEnvironment::new();
    for (agent, event) in BEFORE.iter().copied() {
        let all = crate::agents::payloads(agent);
        let file = if (agent, event) == (Agent::Copilot, "PreToolUse") { "PreToolUse-pascal" } else { event };
        let Some((_, real)) = all.iter().find(|(name, _)| name == file) else {
            // No client of the machine that recorded them has this event yet.
            assert_eq!(event, "PreSkillShellCommand");
            continue;
        };
        let real: Value = serde_json::from_slice(real).unwrap();
        let probe = call(&env, agent, event, "ls");
        for at in ["", "/tool_input", "/toolArgs"] {
            let keys = |value: &Value| {
                let object = value.pointer(at).and_then(Value::as_object);
                object.map(|it| it.keys().cloned().collect::<std::collections::BTreeSet<_>>())
            };
            assert_eq!(keys(&probe), keys(&real), "{agent} {event} {at}");
        }
        let tool = |value: &Value| value.get("tool_name").or_else(|| value.get("toolName")).cloned();
        assert_eq!(tool(&probe), tool(&real), "{agent} {event}");
    }
}
