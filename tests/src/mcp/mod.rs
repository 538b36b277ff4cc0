//! Hooks that are tools of MCP servers.

mod http;
mod life;
mod served;
mod stdio;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use hookbox::hook::{Cause, Kind};
use hookbox::manager::Manager;
use hookbox::mcp::{ServerConfig, Servers, ToolHook, Transport};
use hookbox::report::{HookReport, Report};
use hookbox::{Descriptor, EventName, ToolCall};
use serde_json::{Value, json};

use crate::environment::TestEnvironment;

/// Far more than any server here needs, on a slow machine too.
const LONG: Duration = Duration::from_secs(600);

/// The environment of `tests/servers/tools.sh`.
type Told<'a> = &'a [(&'a str, &'a str)];

/// The server of scripted tools, `tools`, with its records in `records/`.
fn tools(env: &TestEnvironment, told: Told<'_>) -> Servers {
    env.directory("records").script("servers/tools.sh", include_str!("../../servers/tools.sh"));
    let mut variables = BTreeMap::from([("RECORDS".to_owned(), env.path("records").display().to_string())]);
    variables.extend(told.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    Servers::new(vec![ServerConfig {
        name: "tools".to_owned(),
        transport: Transport::Stdio {
            command: "./servers/tools.sh".to_owned(),
            args: Vec::new(),
            env: variables,
            directory: env.path("."),
        },
    }])
}

/// A hook that is this tool, for this event, with so much time.
fn hook(servers: &Servers, tool: &str, event: EventName, wall: Duration) -> ToolHook {
    let name = servers.names().next().unwrap().to_owned();
    let mut descriptor = Descriptor::new(format!("{name}.{tool}"), Kind::Tool).on(event);
    descriptor.budget.wall = wall;
    ToolHook::new(descriptor, servers.get(&name).unwrap(), tool.to_owned())
}

/// A manager with these tools as hooks of `before_tool_call`.
async fn guards(env: &TestEnvironment, servers: &Servers, tools: &[(&str, Duration)]) -> Manager {
    let mut builder = env.builder().directories(false);
    for (tool, wall) in tools {
        builder = builder.hook(hook(servers, tool, EventName::BeforeToolCall, *wall));
    }
    builder.build().await
}

/// One `before_tool_call`; what each hook did.
async fn call(manager: &Manager) -> Report {
    manager
        .session("c")
        .before_tool_call(ToolCall::new("bash", json!({"command": "ls"})))
        .await
        .report
        .clone()
}

fn causes(report: &Report) -> Vec<Option<Cause>> {
    report.hooks.iter().map(|hook| hook.cause).collect()
}

fn only(report: &Report) -> &HookReport {
    assert_eq!(report.hooks.len(), 1, "{report:#?}");
    &report.hooks[0]
}

/// The lines of one of the server's records.
fn record(env: &TestEnvironment, name: &str) -> Vec<String> {
    env.read(&format!("records/{name}")).unwrap_or_default().lines().map(str::to_owned).collect()
}

/// The arguments of the calls that the server has seen.
fn arguments(env: &TestEnvironment) -> Vec<Value> {
    let call = |line: &String| {
        let call: Value = serde_json::from_str(line).unwrap();
        call["params"]["arguments"].clone()
    };
    record(env, "calls").iter().map(call).collect()
}

/// Returns whether a process runs, and does not only wait to be collected by its parent.
pub(crate) fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.trim_start().starts_with('Z'))
}

pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < LONG, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
