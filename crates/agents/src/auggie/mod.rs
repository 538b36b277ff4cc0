//! Augment's Auggie, checked with 0.36: Claude Code's names of the events, and tools of its own. It waits for an answer
//! before and after a tool, and reads none at other events.

use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "auggie",
    title: "Auggie",
    process: ProcessSigns {
        variables: &["AUGMENT_AGENT"],
        packages: &["@augmentcode/auggie"],
        ..ProcessSigns::of(&["auggie"])
    },
    project_variable: Some("AUGMENT_PROJECT_DIR"),
    places: &[
        at(BOTH, ".augment/settings.json", Holds::Hooks),
        at(LOCAL, ".augment/settings.local.json", Holds::Beside),
        at(HOME, ".augment/plugins", Holds::Beside),
        at(SYSTEM, "/etc/augment/settings.json", Holds::Hooks),
    ],
    config: ConfigFormat {
        reads_comments: true,
        parser: Some(ParserRules { reads_mark: true, check: |_| None }),
        entry: EntryForm { has_args: true, takes_null_matcher: false, ..EntryForm::GROUPED },
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Milliseconds, 60),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(LeftOut),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("PromptSubmit", LeftOut, LeftOut).block(LeftOut),
        // It runs the tool after `ask`.
        AgentEvent::before("PreToolUse", Blocks, Honoured, LeftOut),
        // It drops the reason of a block, and shows the model a text beside the output.
        AgentEvent::after("PostToolUse", Told, Told),
        AgentEvent::stop("Stop").follow_up(LeftOut),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    tools: ToolNames {
        names: "Bash=launch-process Read=view Write=save-file Edit=str-replace-editor WebFetch=web-fetch \
            WebSearch=web-search",
        exit_status,
        ..ToolNames::BASE
    },
    answers: Answers {
        write,
        code: CodePlace::SystemMessage,
        changed_output: |_, _, new| ChangedOutput::Told(output::filled(new)),
        effect: |_, _, specific| effect::permission(specific).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        json!({
            "hook_event_name": call.event.name, "conversation_id": call.session, "workspace_roots": [call.cwd],
            "tool_name": call.tool, "tool_output": "[undefined]", "tool_error": null, "is_mcp_tool": false,
            "tool_input": {"command": call.line, "wait": true, "max_wait_seconds": 600, "cwd": call.cwd},
        })
    },
    next_steps: &[(
        &Level::ALL,
        "type /hooks in auggie: if it does not know that command, your account runs no hooks",
    )],
    doctor: DoctorRules { check, ..DoctorRules::BASE },
    ..Spec::BASE
};

/// Warns about the account, for which Augment's service switches hooks on.
fn check(_: &Conditions<'_>, found: &mut Examination) {
    let message =
        "Auggie runs hooks only if Augment has enabled them for your account, which cannot be seen here";
    found.warn("switch", message, "type /hooks in auggie: it knows that command if it runs hooks");
}

/// Returns the status in the first lines of the output of a process.
fn exit_status(output: &Value) -> Option<i32> {
    let (_, rest) = output.as_str()?.split_once("\n<return-code>\n")?;
    rest.lines().next()?.parse().ok()
}

/// Writes the answers to Auggie.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason) => {
            specific(event, permission("deny", reason))
        }
        Decision::Pass => passed(event, plan, "updatedInput"),
    }
}
