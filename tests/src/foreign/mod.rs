//! Hooks of other agents as a source of hooks: `--from`, `AgentHooks`.

mod configurations;
mod conflicts;
mod documentation;
mod files;
mod hostile;
mod payloads;
mod plugin;
mod surroundings;
mod trust;

use hookbox_agents::Agent;
use serde_json::{Value, json};

use crate::environment::TestEnvironment;

pub(crate) use self::configurations::{configure, of_projects};

/// A call of a shell tool as an agent of no particular kind sends it.
fn bash(command: &str) -> Value {
    json!({"tool_name": "bash", "tool_input": {"command": command}})
}

/// The arguments that ask for the hooks of an agent, trusted or not.
fn all_of(agent: Agent) -> [&'static str; 4] {
    ["--from", agent.as_str(), "--trust", "all"]
}

/// The verdict of an event, with all hooks of this agent trusted.
#[track_caller]
fn verdict(env: &TestEnvironment, agent: Agent, event: &str, data: &Value) -> Value {
    env.event(&[&[event][..], &all_of(agent)].concat(), data)
}

/// `NAME STATUS` of every hook, in run order.
fn statuses(env: &TestEnvironment, args: &[&str]) -> Vec<String> {
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    env.list(args).iter().map(|row| format!("{} {}", text(row, "name"), text(row, "status"))).collect()
}

/// Returns the warnings of `hookbox list`, without the directory of the test.
fn problems(env: &TestEnvironment, args: &[&str]) -> Vec<String> {
    let output = env.hookbox([&["list", "--json"], args].concat());
    let base = format!("{}/", env.path("").display()).replace("//", "/");
    output.stderr.lines().map(|line| line.replace(&base, "")).collect()
}
