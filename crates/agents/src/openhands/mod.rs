//! OpenHands' CLI, checked with 1.16: Claude Code's names of the events, and other fields.

use crate::finding::shown;
use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "openhands",
    title: "OpenHands",
    // It sets no variable for its commands.
    process: ProcessSigns::of(&["openhands"]),
    project_variable: Some("OPENHANDS_PROJECT_DIR"),
    places: &[at(BOTH, HOOKS, Holds::Hooks)],
    config: ConfigFormat {
        entry: EntryForm { runs_sh: true, takes_null_matcher: false, ..EntryForm::GROUPED },
        ignores_whole_file: true,
        repository_switch: Some("a .openhands/hooks.json of its own"),
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 60),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(LeftOut),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("UserPromptSubmit", Blocks, Honoured),
        AgentEvent::before("PreToolUse", Blocks, Blocks, LeftOut),
        AgentEvent::after("PostToolUse", LeftOut, LeftOut).inject(LeftOut),
        AgentEvent::stop("Stop"),
    ],
    tools: ToolNames {
        names: "Bash=terminal Edit=file_editor Agent=task",
        exit_status: |output| i32::try_from(output.get("exit_code")?.as_i64()?).ok(),
        ..ToolNames::BASE
    },
    tool_success: |output, status| {
        Some(status.is_none_or(|status| status == 0) && output.get("is_error") != Some(&Value::Bool(true)))
    },
    answers: Answers {
        write,
        follow_up: |_, message| decision("deny", message),
        shows_warnings: false,
        effect: |_, answer, _| effect::decision(answer, &["deny"]).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        json!({
            "event_type": call.event.name, "tool_name": call.tool, "tool_response": null, "message": null,
            "tool_input": {
                "command": call.line, "is_input": false, "timeout": null, "reset": false, "kind": "TerminalAction",
            },
            "session_id": call.session, "working_dir": call.cwd, "metadata": {},
        })
    },
    doctor: DoctorRules { check, ..DoctorRules::BASE },
    ..Spec::BASE
};

const HOOKS: &str = ".openhands/hooks.json";

/// Checks that no file of the project takes the place of the user's: OpenHands reads one of the two.
fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    let file =
        SPEC.path(conditions.surroundings, Level::Project, HOOKS).filter(|_| conditions.level == Level::User);
    if let Some(file) = file.filter(|file| file.exists()) {
        let message = format!("OpenHands reads {} here, and none of your own hooks", shown(&file));
        found.fail("switch", message, "run hookbox install openhands --project there");
    }
}

/// Writes the answers to OpenHands.
fn write(_: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason) => decision("deny", reason),
        Decision::Pass => context(plan),
    }
}
