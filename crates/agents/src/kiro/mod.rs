//! Kiro (CLI 3, and 2 with `--v3`), by its documentation and measurements that others have published: files of hooks for all
//! agents, and exit code 2 as the only answer. The earlier harness V2 has the hooks in the file of each agent, with other names
//! of the events: its payloads are read, and `hookbox install` writes nothing for it. The real client was not run.

use hookbox_system::files::FileAccess;

use crate::config::json_value;
use crate::finding::contents_of;
use crate::spec::prelude::*;
use crate::text;

pub(crate) static SPEC: Spec = Spec {
    name: "kiro",
    title: "Kiro",
    // It sets no variable for its commands.
    process: ProcessSigns { processes: &["kiro-cli", "kiro-cli-chat"], ..ProcessSigns::of(&["kiro-cli"]) },
    places: &[
        at(BOTH, ".kiro/hooks", Holds::Files),
        at(BOTH, AGENTS, Holds::Beside),
        at(BOTH, ".kiro/settings", Holds::Beside),
    ],
    config: ConfigFormat {
        entry: EntryForm {
            groups: Groups::None,
            is_list: true,
            event_key: "trigger",
            runs_sh: true,
            takes_null_matcher: false,
            ..EntryForm::GROUPED
        },
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 60),
    // The second name of each is that of V2, which has no block of a message.
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("agentSpawn", EventKind::SessionStart).inject(Honoured).unusual(),
        AgentEvent::message("UserPromptSubmit", Blocks, Honoured),
        AgentEvent::message("userPromptSubmit", LeftOut, Honoured).block(LeftOut).unusual(),
        AgentEvent::before("PreToolUse", Blocks, Blocks, LeftOut),
        AgentEvent::before("preToolUse", Blocks, Blocks, LeftOut).unusual(),
        AgentEvent::after("PostToolUse", LeftOut, LeftOut).inject(LeftOut),
        AgentEvent::after("postToolUse", LeftOut, LeftOut).inject(LeftOut).unusual(),
        AgentEvent::stop("Stop").follow_up(LeftOut),
        AgentEvent::stop("stop").follow_up(LeftOut).unusual(),
    ],
    unserved_events: "PreTaskExec PostTaskExec PostFileCreate PostFileSave PostFileDelete Manual",
    tools: ToolNames {
        names: "Bash=execute_bash Read=read_file Write=fs_write Edit=str_replace",
        fields: &[
            ("Read", "file_path", "path"),
            ("Write", "file_path", "path"),
            ("Write", "content", "text"),
            ("Edit", "file_path", "path"),
            ("Edit", "old_string", "oldStr"),
            ("Edit", "new_string", "newStr"),
        ],
        mcp_name: Some("@SERVER/TOOL"),
        ..ToolNames::BASE
    },
    tool_success: |output, _| output.get("success").and_then(Value::as_bool),
    answers: Answers { are_exit_codes: true, shows_warnings: false, ..Answers::BASE },
    sample_call: |call| {
        json!({
            "hook_event_name": call.event.name, "session_id": call.session, "cwd": call.cwd,
            "tool_name": call.tool, "tool_input": {"command": call.line},
        })
    },
    next_steps: &[(
        &Level::ALL,
        "give kiro-cli chat --no-interactive the option --v3: without it, it runs V2, which does not read this file",
    )],
    doctor: DoctorRules {
        check,
        off_words: &["--v2", "--agent-engine v2", "--agent-engine=v2"],
        ..DoctorRules::BASE
    },
    ..Spec::BASE
};

/// The files of agents.
const AGENTS: &str = ".kiro/agents";

/// Warns about V2, with the agents that have no entry of hookbox for it. Kiro's own agents have no file.
fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    let mut names = vec!["kiro_default".to_owned()];
    for level in [Level::User, Level::Project] {
        let Some(directory) = SPEC.path(conditions.surroundings, level, AGENTS) else { continue };
        let (files, _) = FileAccess::Anywhere.names(&directory).unwrap_or_default();
        for name in files.iter().filter_map(|name| name.to_str()?.strip_suffix(".json")) {
            let agent = contents_of(&directory.join(format!("{name}.json"))).unwrap_or_default();
            let hooks = json_value(&agent).get("hooks").map(Value::to_string).unwrap_or_default();
            if !hooks.contains("bridge kiro") {
                names.push(text::escape(name, 64));
            }
        }
    }
    names.sort();
    names.dedup();
    let message = format!(
        "V2 (kiro-cli --v2, and without --v3 kiro-cli chat --no-interactive and each Kiro CLI before 3.0) runs the hooks in \
         the file of an agent only: it does not guard {}",
        names.join(", ")
    );
    found.warn("event", message, "use V3, or add the entry of the page guard-your-agent.md to these agents");
}
