//! Cursor, by its documentation.

mod hook;

use crate::agent::output::filled;
use crate::event::{InvokedBy, ToolKind};
use crate::spec::prelude::*;

/// The system's hooks, of Cursor's page on hooks.
const SYSTEM_FILE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/Cursor/hooks.json"
} else {
    "/etc/cursor/hooks.json"
};

pub(crate) static SPEC: Spec = Spec {
    name: "cursor",
    title: "Cursor",
    process: ProcessSigns {
        // Cursor's documentation of the terminal of its agent.
        variables: &["CURSOR_AGENT"],
        commands: &["cursor-agent", "cursor"],
        // The editor itself is not an agent: people have terminals in it.
        processes: &["cursor-agent"],
        packages: &["cursor-agent"],
    },
    project_variable: Some("CURSOR_PROJECT_DIR"),
    places: &[
        at(BOTH, ".cursor/hooks.json", Holds::Hooks),
        at(BOTH, ".cursor/hooks", Holds::Beside),
        at(SYSTEM, SYSTEM_FILE, Holds::Hooks),
    ],
    config: ConfigFormat {
        reads_comments: true,
        parser: None,
        entry: EntryForm {
            groups: Groups::None,
            has_type: false,
            has_version: true,
            strict_key: Some("failClosed"),
            ..EntryForm::GROUPED
        },
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 60),
    events: &[
        AgentEvent::new("sessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("sessionEnd", EventKind::SessionEnd),
        AgentEvent::message("beforeSubmitPrompt", Blocks, LeftOut),
        AgentEvent::before("preToolUse", Blocks, Honoured, LeftOut).takes_allow(),
        AgentEvent::after("postToolUse", Told, Told),
        AgentEvent::error("postToolUseFailure", LeftOut, LeftOut),
        AgentEvent::new("afterAgentResponse", EventKind::AfterTurn).inject(LeftOut),
        AgentEvent::stop("stop"),
        AgentEvent::stop("subagentStop"),
        AgentEvent::new("preCompact", EventKind::PreCompact).block(LeftOut).inject(LeftOut),
    ],
    other_events: &[
        AgentEvent::stoppable("beforeReadFile", "before_read_file"),
        AgentEvent::stoppable("beforeTabFileRead", "before_tab_file_read"),
        AgentEvent::other("afterTabFileEdit", "after_tab_file_edit"),
        AgentEvent::other("afterAgentThought", "after_agent_thought"),
        AgentEvent::stoppable("subagentStart", "subagent_start").inject(LeftOut),
        AgentEvent::other("workspaceOpen", "workspace_open"),
    ],
    // hookbox serves these calls at the events of all tools.
    unserved_events: "beforeShellExecution afterShellExecution beforeMCPExecution afterMCPExecution \
        afterFileEdit",
    tools: ToolNames {
        names: "Bash=Shell Read Write Edit=Write MultiEdit=Write Grep Agent=Task",
        mcp_name: Some("MCP:TOOL"),
        mcp_aliases: &["mcp__SERVER__TOOL", "MCP:TOOL"],
        ..ToolNames::BASE
    },
    counts_follow_ups: true,
    answers: Answers {
        write,
        empty: "{}\n",
        follow_up: |_, message| optional("followup_message", Some(message)),
        shows_warnings: false,
        changed_output,
        max_context: Some(10_000),
        effect: |_, answer, _| effect(answer),
        ..Answers::BASE
    },
    sample_call: |call| {
        call.with(json!({
            "conversation_id": call.session, "generation_id": call.session, "model": "none",
            "tool_input": {"command": call.line, "cwd": call.cwd}, "tool_use_id": "call_0",
            "cursor_version": "0", "workspace_roots": [call.cwd], "user_email": "nobody@localhost",
        }))
    },
    hooks: Some(CommandHooks {
        encode: hook::encode,
        outcome: hook::outcome,
        matcher: |_, pattern| Rule::regex(pattern.trim()),
        subject: |event| {
            let word = match &event.data {
                EventData::UserMessageSend { .. } => "UserPromptSubmit",
                EventData::AgentStop(_) if event.context.invoked_by == InvokedBy::Main => "Stop",
                _ => return None,
            };
            Some(word.to_owned())
        },
        tool_events: &[
            on_tools("beforeShellExecution", EventKind::BeforeToolCall, &[ToolKind::Shell]),
            on_tools("afterShellExecution", EventKind::AfterToolCall, &[ToolKind::Shell]),
            on_tools("beforeMCPExecution", EventKind::BeforeToolCall, &[ToolKind::Mcp]),
            on_tools("afterMCPExecution", EventKind::AfterToolCall, &[ToolKind::Mcp]),
            on_tools("afterFileEdit", EventKind::AfterToolCall, &[ToolKind::Write, ToolKind::Edit]),
        ],
        has_failure_event: true,
        project_variables: &["CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR"],
        runs_beside_file: true,
        ..CommandHooks::BASE
    }),
    ..Spec::BASE
};

const fn on_tools(name: &'static str, event: EventKind, kinds: &'static [ToolKind]) -> ToolEvent {
    ToolEvent { name, event, kinds }
}

/// Writes the answers to Cursor, by its documentation. `permission: "allow"` spares the user a question, so it is written
/// only if a hook allows the call. An answer is always one object, because Cursor takes an empty one for a hook that
/// failed.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match (&plan.decision, event.event) {
        (Decision::Pass, event) => {
            let is_before = event == EventKind::BeforeToolCall;
            let key = if is_before { "updated_input" } else { "updated_mcp_tool_output" };
            let mut answer = optional("permission", plan.allowed.as_ref().map(|_| "allow"));
            answer.extend(optional(key, plan.changed.clone()));
            answer.extend(optional("additional_context", plan.context.as_deref()));
            answer
        }
        (
            Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason),
            EventKind::UserMessageSend,
        ) => object([("continue", json!(false)), ("user_message", json!(reason))]),
        (Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason), _) => object([
            ("permission", json!("deny")),
            ("user_message", json!(reason)),
            ("agent_message", json!(reason)),
        ]),
    }
}

/// Returns a changed output. Cursor replaces only that of MCP tools.
fn changed_output(tool: &str, _was: &Value, new: &Value) -> ChangedOutput {
    if !tool.starts_with("MCP:") {
        return ChangedOutput::Told(filled(new));
    }
    let is_result = new.get("content").is_some_and(Value::is_array);
    ChangedOutput::Whole(if is_result { new.clone() } else { text(new).into() })
}

fn effect(answer: &Map<String, Value>) -> Option<Effect> {
    match text_of(answer, "permission") {
        "deny" => Some(Effect::Blocked(text_of(answer, "agent_message").to_owned())),
        "ask" => Some(Effect::Asked(text_of(answer, "user_message").to_owned())),
        _ => None,
    }
}
