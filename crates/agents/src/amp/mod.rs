//! Amp, by its documentation and the part of its client that runs plugins (0.0.1790142911). It runs no commands at its
//! events, but plugins in TypeScript: `assets/amp/hookbox.js` is one, which writes and reads the JSON here. A thread of the
//! real client was not run: it needs Amp's service.

use crate::finding::variable;
use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "amp",
    title: "Amp",
    process: ProcessSigns {
        variables: &["AMP_CURRENT_THREAD_ID"],
        packages: &["@ampcode/cli", "@sourcegraph/amp"],
        ..ProcessSigns::of(&["amp"])
    },
    places: &[
        at(HOME, ".config/amp/plugins", Holds::Plugins),
        at(HOME, ".config/amp/settings.json", Holds::Beside),
        at(PROJECT, ".amp/plugins", Holds::Plugins),
        at(PROJECT, ".amp/settings.json", Holds::Beside),
    ],
    moved_by: Some(MovedBy { variable: "XDG_CONFIG_HOME", directory: ".config", reads_tilde: false }),
    config: ConfigFormat { parser: None, reads_above: Above::Root, ..ConfigFormat::BASE },
    // The time that the plugin waits, and the time that Amp waits for a plugin at its end.
    wait: Wait {
        session_end: SessionEndWait::AtMost { most: Duration::from_secs(3), usual: Duration::from_secs(3) },
        ..Wait::new(Unit::Seconds, 20)
    },
    // Amp has no name for the end, at which it disposes of its plugins.
    events: &[
        AgentEvent::new("session.start", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("dispose", EventKind::SessionEnd),
        AgentEvent::message("agent.start", Blocks, Honoured),
        AgentEvent::before("tool.call", Honoured, Honoured, Honoured),
        AgentEvent::after("tool.result", Honoured, Honoured),
        AgentEvent::stop("agent.end"),
    ],
    unserved_events: "changes.prompt",
    tools: ToolNames {
        names: "Bash=shell_command Read Write=create_file Edit=edit_file Glob=glob Grep WebFetch=read_web_page \
            WebSearch=web_search Agent=Task",
        fields: &[
            ("Read", "file_path", "path"),
            ("Write", "file_path", "path"),
            ("Edit", "file_path", "path"),
            ("Edit", "old_string", "old_str"),
            ("Edit", "new_string", "new_str"),
        ],
        mcp_name: Some("mcp__SERVER__TOOL"),
        ..ToolNames::BASE
    },
    tool_success: |output, status| {
        Some(status.is_none_or(|status| status == 0) && output.get("isError") != Some(&Value::Bool(true)))
    },
    counts_follow_ups: true,
    answers: Answers {
        follow_up: |_, message| optional("follow_up", Some(message)),
        // The plugin shows these lines, and gives the model the reason alone.
        code: CodePlace::StandardError,
        ..Answers::TO_PLUGIN
    },
    sample_call: |call| call.to_plugin(json!({"command": call.line})),
    plugin: Some(PluginFile {
        file_name: "hookbox.ts",
        text: concat!(include_str!("../../assets/amp/hookbox.js"), include_str!("../../assets/program.js")),
        head: "/**\n * hookbox in Amp",
        deadline: None,
    }),
    next_steps: &[
        (&Level::ALL, "run amp plugins list: it shows hookbox.ts as active"),
        (
            &Level::ALL,
            "give amp -x the option --plugin-ready-timeout: without it, its turn may begin before its plugins",
        ),
    ],
    doctor: DoctorRules { check, off_words: &["PLUGINS"], ..DoctorRules::BASE },
    ..Spec::BASE
};

/// Checks that no variable leaves the plugin out: Amp loads the plugins that `PLUGINS` names, or all.
fn check(_: &Conditions<'_>, found: &mut Examination) {
    let names = variable("PLUGINS").unwrap_or_default().to_string_lossy().into_owned();
    if !names.is_empty() && names != "all" && !names.split(',').any(|it| it.trim() == "hookbox") {
        let message = "PLUGINS is set, and leaves the plugin out";
        found.fail("switch", message, "remove the variable from the environment");
    }
}
