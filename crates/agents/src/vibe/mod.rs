//! Mistral Vibe, checked with 2.26: three events, in a TOML file. A hook that fails blocks if its entry is `strict`.

use crate::agent::Agent;
use crate::agent::bridge_command::is_ours;
use crate::finding::{contents_of, shown};
use crate::spec::prelude::*;
use crate::text;

pub(crate) static SPEC: Spec = Spec {
    name: "vibe",
    title: "Mistral Vibe",
    // It sets no variable for its commands.
    process: ProcessSigns::of(&["vibe"]),
    places: &[
        at(BOTH, HOOKS, Holds::Hooks),
        at(BOTH, ".vibe/config.toml", Holds::Beside),
        at(HOME, ".vibe/trusted_folders.toml", Holds::Beside),
    ],
    moved_by: Some(MovedBy { variable: "VIBE_HOME", directory: ".vibe", reads_tilde: true }),
    config: ConfigFormat {
        is_toml: true,
        parser: Some(ParserRules { reads_mark: false, check: |toml| table(toml).err() }),
        entry: EntryForm {
            groups: Groups::None,
            event_key: "type",
            matcher_key: "match",
            has_type: false,
            name_key: Some("name"),
            strict_key: Some("strict"),
            is_always_strict: true,
            runs_sh: true,
            takes_null_matcher: false,
            ..EntryForm::GROUPED
        },
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 60),
    events: &[
        AgentEvent::before("pre_tool", Blocks, Honoured, LeftOut),
        AgentEvent::after("post_tool", Honoured, Blocks),
        AgentEvent::stop("post_agent"),
    ],
    tools: ToolNames {
        names: "Bash=file_system.bash Read=file_system.read_file Write=file_system.write_file \
            Edit=file_system.edit",
        exit_status: |output| i32::try_from(output.get("returncode")?.as_i64()?).ok(),
        ..ToolNames::BASE
    },
    tool_success: |output, status| Some(output.is_object() && status.is_none_or(|status| status == 0)),
    answers: Answers {
        write,
        follow_up: |_, message| decision("deny", message),
        shows_warnings: false,
        failure_blocks: true,
        effect: |_, answer, _| effect::decision(answer, &["deny"]).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        call.with(json!({
            "parent_session_id": null, "tool_call_id": "call_0", "tool_input": {"command": call.line},
        }))
    },
    next_steps: &[(
        &Level::IN_PROJECT,
        "trust the folder when vibe asks: it runs the hooks of a project only then",
    )],
    doctor: DoctorRules { check, ..DoctorRules::BASE },
    ..Spec::BASE
};

const HOOKS: &str = ".vibe/hooks.toml";

fn table(toml: &str) -> Result<toml::Table, String> {
    toml::from_str(toml).map_err(|error| text::escape(error.to_string().trim(), 500))
}

/// Checks the two ways in which the call of a tool gets past an entry: it is not strict, or a project has a hook of its
/// name. Of two hooks of one name Vibe runs the project's, if it trusts the folder.
fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    let extra = &conditions.entry.extra;
    let is_before = conditions.entry.event == "pre_tool";
    if is_before && extra.get("strict") != Some(&Value::Bool(true)) {
        let message = format!("{} is not strict: the tool runs if hookbox fails", conditions.place);
        found.fail("event", message, "run hookbox install vibe again");
    }
    let file =
        SPEC.path(conditions.surroundings, Level::Project, HOOKS).filter(|_| conditions.level == Level::User);
    let Some(file) = file else { return };
    let bytes = contents_of(&file).unwrap_or_default();
    let hooks = str::from_utf8(&bytes).ok().and_then(|toml| table(toml).ok()).unwrap_or_default();
    let all = hooks.get("hooks").and_then(toml::Value::as_array).into_iter().flatten();
    let field = |hook: &toml::Value, key: &str| {
        hook.get(key).and_then(toml::Value::as_str).unwrap_or_default().to_owned()
    };
    let own = extra.get("name").and_then(Value::as_str).unwrap_or_default();
    if all.filter(|it| field(it, "name") == own).any(|it| !is_ours(Agent::Vibe, &field(it, "command"))) {
        let message = format!("{} has another hook of the name \"{own}\", which runs instead", shown(&file));
        found.fail("switch", message, "remove that hook, or do not trust the folder");
    }
}

/// Writes the answers to Vibe.
fn write(event: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason) => decision("deny", reason),
        Decision::Pass => {
            let before = event.event == EventKind::BeforeToolCall;
            let mut fields = optional("tool_input", plan.changed.clone().filter(|_| before));
            fields.extend(optional("additional_context", plan.context.as_deref()));
            if fields.is_empty() { fields } else { object([("hook_specific_output", fields.into())]) }
        }
    }
}
