//! Charm's Crush, by its documentation and source code of August 2026: one event, entries without groups, and answers of
//! its own. The real client was not run.

use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "crush",
    title: "Crush",
    process: ProcessSigns {
        variables: &["CRUSH"],
        packages: &["@charmland/crush"],
        ..ProcessSigns::of(&["crush"])
    },
    places: &[
        at(HOME, ".config/crush/crush.json", Holds::Hooks),
        at(PROJECT, "crush.json", Holds::Hooks),
        at(PROJECT, ".crush.json", Holds::Hooks),
        at(HOME, ".local/share/crush/crush.json", Holds::Beside),
        at(HOME, ".config/crush/crushrc", Holds::Beside),
        at(PROJECT, "crushrc", Holds::Beside),
        at(PROJECT, ".crushrc", Holds::Beside),
        at(PROJECT, ".crush/crush.json", Holds::Beside),
    ],
    moved_by: Some(MovedBy { variable: "XDG_CONFIG_HOME", directory: ".config", reads_tilde: false }),
    config: ConfigFormat {
        entry: EntryForm {
            groups: Groups::None,
            has_type: false,
            name_key: Some("name"),
            ..EntryForm::GROUPED
        },
        env_key: Some("env"),
        reads_above: Above::All,
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 30),
    events: &[
        // A call without an answer goes the usual way, so that a question is a block.
        AgentEvent::before("PreToolUse", Blocks, Honoured, Honoured).takes_allow(),
    ],
    tools: ToolNames {
        names: "Bash=bash Read=view Write=write Edit=edit MultiEdit=multiedit Glob=glob Grep=grep LS=ls \
            WebFetch=fetch Agent=agent",
        mcp_name: Some("mcp_SERVER_TOOL"),
        ..ToolNames::BASE
    },
    answers: Answers {
        write,
        shows_warnings: false,
        // It puts the new fields over the old ones.
        takes_input: |was, new| was.keys().all(|field| new.contains_key(field)),
        effect: |_, answer, _| effect::decision(answer, &["deny"]).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        json!({
            "event": call.event.name, "session_id": call.session, "cwd": call.cwd, "tool_name": call.tool,
            "tool_input": call.input(),
        })
    },
    ..Spec::BASE
};

/// Writes the answers to Crush.
fn write(_: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    let mut answer = match (&plan.decision, &plan.allowed) {
        (Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason), _) => {
            return decision("deny", reason);
        }
        (Decision::Pass, Some(reason)) => decision("allow", reason),
        (Decision::Pass, None) => Map::new(),
    };
    answer.extend(optional("updated_input", plan.changed.clone()));
    answer.extend(optional("context", plan.context.as_deref()));
    answer
}
