//! Factory's Droid, checked with 0.225: Claude Code's events and answers, and names of tools of its own.

use crate::config::json_value;
use crate::finding::{contents_of, shown};
use crate::spec::prelude::*;

/// The organization's settings on a machine.
const SYSTEM_FILE: &str = if cfg!(target_os = "macos") {
    "/Library/Application Support/Factory/settings.json"
} else {
    "/etc/factory/settings.json"
};

pub(crate) static SPEC: Spec = Spec {
    name: "droid",
    title: "Droid",
    process: ProcessSigns { packages: &["@factory/cli"], ..ProcessSigns::of(&["droid"]) },
    project_variable: Some("FACTORY_PROJECT_DIR"),
    places: &[
        at(BOTH, ".factory/settings.json", Holds::Hooks),
        at(BOTH, HOOKS, Holds::Beside),
        at(BOTH, ".factory/hooks", Holds::Beside),
        at(LOCAL, ".factory/settings.local.json", Holds::Beside),
        at(SYSTEM, SYSTEM_FILE, Holds::Hooks),
    ],
    config: ConfigFormat {
        disable_settings: &[DisableSetting {
            within: Some("hooks"),
            key: OFF,
            leaves_out: LeavesOut::All(true),
            shown: "\"hooks\": {\"hooksDisabled\": true}",
        }],
        former_settings: &[OFF, "showHookOutput"],
        // Seen in 0.225, in a project's settings and in its hooks.json.
        repository_switch: Some(
            "\"hooksDisabled\": true in its .factory/settings.json or .factory/hooks.json",
        ),
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 60),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("UserPromptSubmit", Blocks, Honoured),
        // It runs the tool after `ask`.
        AgentEvent::before("PreToolUse", Blocks, Honoured, LeftOut).takes_allow(),
        // The model reads the reason beside the output. A call that failed has no event.
        AgentEvent::after("PostToolUse", Told, Told),
        AgentEvent::stop("Stop"),
        AgentEvent::stop("SubagentStop").follow_up(LeftOut),
        AgentEvent::new("PreCompact", EventKind::PreCompact).block(LeftOut).inject(LeftOut),
        AgentEvent::new("Notification", EventKind::Notification),
    ],
    tools: ToolNames {
        names: "Bash=Execute Read Write=Create Edit Glob Grep LS Agent=Task",
        ..ToolNames::BASE
    },
    answers: Answers {
        write,
        // It puts the new fields over the old input.
        takes_input: |was, new| was.keys().all(|field| new.contains_key(field)),
        changed_output: |_, _, new| ChangedOutput::Told(output::filled(new)),
        effect: |_, _, specific| effect::permission(specific).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        call.with(json!({
            "permission_mode": "auto-low", "tool_input": {"summary": "Run a command", "command": call.line},
        }))
    },
    doctor: DoctorRules { check, ..DoctorRules::BASE },
    ..Spec::BASE
};

/// The file that Droid's own dialog `/hooks` writes: events without `hooks` around them.
const HOOKS: &str = ".factory/hooks.json";

/// The key that switches all hooks off, at each level for all levels.
const OFF: &str = "hooksDisabled";

/// Checks that no `hooks.json` switches the hooks off, or takes the place of an event of `settings.json` beside it.
fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    for level in [Level::User, Level::Project] {
        let Some(file) = SPEC.path(conditions.surroundings, level, HOOKS) else { continue };
        let hooks = contents_of(&file).map(|bytes| json_value(&bytes)).unwrap_or_default();
        if hooks.get(OFF) == Some(&Value::Bool(true)) {
            let message = format!("{} switches every hook off, by \"{OFF}\"", shown(&file));
            found.fail("switch", message, "switch hooks on in /hooks of droid");
        }
        let event = conditions.entry.event.as_str();
        let is_listed = hooks.get(event).and_then(Value::as_array).is_some_and(|list| !list.is_empty());
        if is_listed && conditions.level == level {
            let message = format!("{} has {event}, in place of that of settings.json", shown(&file));
            found.fail("event", message, "move its hooks into settings.json");
        }
    }
}

/// Writes the answers to Droid, which reads Claude Code's.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match (&plan.decision, event.event) {
        (Decision::Pass, _) => passed(event, plan, "updatedInput"),
        (Decision::Block(reason) | Decision::Ask(reason), EventKind::BeforeToolCall) => {
            specific(event, permission("deny", reason))
        }
        (Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason), _) => stop(reason),
    }
}
