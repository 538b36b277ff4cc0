//! Cognition's Devin CLI, by its documentation and payloads that others have published (3000.6): Claude Code's events, and
//! tools and answers of its own. The real client was not run.

use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "devin",
    title: "Devin",
    // The documentation names no variable that it sets for its commands.
    process: ProcessSigns::of(&["devin"]),
    project_variable: Some("DEVIN_PROJECT_DIR"),
    places: &[
        at(HOME, ".config/devin/config.json", Holds::Hooks),
        at(PROJECT, ".devin/config.json", Holds::Hooks),
        at(LOCAL, ".devin/config.local.json", Holds::Beside),
        at(PROJECT, ".devin/hooks.v1.json", Holds::Beside),
    ],
    config: ConfigFormat { reads_comments: true, reads_above: Above::All, ..ConfigFormat::BASE },
    wait: Wait::new(Unit::Seconds, 60),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        // A hook can add a text; the documentation does not name a block.
        AgentEvent::message("UserPromptSubmit", LeftOut, Honoured).block(LeftOut),
        AgentEvent::before("PreToolUse", Blocks, Honoured, LeftOut),
        // The model reads a text beside the output.
        AgentEvent::after("PostToolUse", Told, Told),
        AgentEvent::stop("Stop"),
        AgentEvent::new("PostCompaction", EventKind::PostCompact).inject(LeftOut),
        AgentEvent::new("PermissionRequest", EventKind::PermissionRequest).block(Honoured),
    ],
    tools: ToolNames {
        names: "Bash=exec Read=read Write=write Edit=edit Glob=glob Grep=grep WebFetch=webfetch \
            NotebookEdit=notebook_edit Agent=run_subagent",
        mcp_name: Some("mcp__SERVER__TOOL"),
        ..ToolNames::BASE
    },
    tool_success: |output, _| output.get("success").and_then(Value::as_bool),
    answers: Answers {
        write,
        shows_warnings: false,
        // It puts the new fields over the old ones.
        takes_input: |was, new| was.keys().all(|field| new.contains_key(field)),
        changed_output: |_, _, new| ChangedOutput::Told(output::filled(new)),
        effect: |_, answer, _| effect::decision(answer, &["block", "deny"]).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        json!({
            "hook_event_name": call.event.name, "session_id": call.session, "prompt_id": "prompt_0",
            "tool_name": call.tool, "tool_input": {"command": call.line, "shell_id": "main"},
            "tool_use_id": "call_0",
        })
    },
    next_steps: &[(&Level::ALL, "type /hooks in devin: it lists the hooks that it runs, and their files")],
    ..Spec::BASE
};

/// Writes the answers to Devin.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason) => decision("block", reason),
        Decision::Pass => passed(event, plan, "updatedInput"),
    }
}
