//! OpenCode, checked with 1.18. It runs no commands at its events, but plugins in JavaScript:
//! `assets/opencode/hookbox.js` is one, which writes and reads the JSON here. That form is our own, so there
//! is one object in any case, and no field for an answer that OpenCode cannot follow.

use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = BASE;

/// Returns the text of the plugin for an agent of this name.
macro_rules! plugin {
    ($agent:literal) => {
        concat!(
            include_str!("../../assets/opencode/hookbox.js"),
            include_str!("../../assets/program.js"),
            "\nconst AGENT = \"",
            $agent,
            "\";\n",
        )
    };
}
pub(crate) use plugin;

/// The plugin.
pub(crate) const PLUGIN: PluginFile = PluginFile {
    file_name: "hookbox.js",
    text: plugin!("opencode"),
    head: "/**\n * hookbox in OpenCode",
    deadline: None,
};

/// The table, which Kilo shares.
pub(crate) const BASE: Spec = Spec {
    name: "opencode",
    title: "OpenCode",
    // anomalyco/opencode: packages/opencode/src/index.ts; the second in later versions.
    process: ProcessSigns {
        variables: &["OPENCODE", "OPENCODE_PID"],
        packages: &["opencode-ai"],
        ..ProcessSigns::of(&["opencode"])
    },
    project_variable: None,
    // It loads both directories of plugins.
    places: &[
        at(HOME, ".config/opencode/plugins", Holds::Plugins),
        at(HOME, ".config/opencode/plugin", Holds::Plugins),
        at(HOME, ".config/opencode/opencode.json", Holds::Beside),
        at(HOME, ".config/opencode/opencode.jsonc", Holds::Beside),
        at(PROJECT, ".opencode/plugins", Holds::Plugins),
        at(PROJECT, ".opencode/plugin", Holds::Plugins),
        at(PROJECT, ".opencode/opencode.json", Holds::Beside),
        at(PROJECT, ".opencode/opencode.jsonc", Holds::Beside),
        at(PROJECT, "opencode.json", Holds::Beside),
        at(PROJECT, "opencode.jsonc", Holds::Beside),
    ],
    moved_by: Some(MovedBy { variable: "XDG_CONFIG_HOME", directory: ".config", reads_tilde: false }),
    command_files: &[
        quoted(".opencode/command"),
        quoted(".opencode/commands"),
        quoted(".config/opencode/command"),
        quoted(".config/opencode/commands"),
    ],
    sessions: None,
    config: ConfigFormat { parser: None, reads_above: Above::All, ..ConfigFormat::BASE },
    // The time that the plugin waits.
    wait: Wait::new(Unit::Seconds, 20),
    // The names of a plugin's hooks, and of events on OpenCode's bus.
    events: &[
        AgentEvent::new("session.created", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("session.deleted", EventKind::SessionEnd),
        AgentEvent::new("dispose", EventKind::SessionEnd),
        AgentEvent::message("chat.message", Honoured, Honoured),
        AgentEvent::before("tool.execute.before", Blocks, Honoured, Honoured),
        AgentEvent::after("tool.execute.after", Honoured, Honoured),
        AgentEvent::error("session.error", LeftOut, Honoured),
        AgentEvent::new("message.updated", EventKind::AfterTurn).inject(Honoured),
        AgentEvent::stop("session.idle"),
        AgentEvent::new("experimental.session.compacting", EventKind::PreCompact)
            .block(LeftOut)
            .inject(Honoured),
        AgentEvent::new("session.compacted", EventKind::PostCompact).inject(Honoured),
    ],
    other_events: &[],
    unserved_events: "",
    tools: ToolNames { names: "Bash=bash", ..ToolNames::BASE },
    tool_success: |_, exit_status| Some(exit_status.is_none_or(|status| status == 0)),
    counts_follow_ups: true,
    answers: Answers {
        follow_up: |_, message| optional("follow_up", Some(message)),
        // The plugin shows these lines, and throws an error with the reason alone.
        code: CodePlace::StandardError,
        ..Answers::TO_PLUGIN
    },
    sample_call: |call| call.to_plugin(json!({"command": call.line})),
    hooks: None,
    plugin: Some(PLUGIN),
    next_steps: &[],
    doctor: DoctorRules { off_variable: Some("OPENCODE_PURE"), off_words: &["--pure"], ..DoctorRules::BASE },
};
