//! Goose, by its documentation and source code of September 2026: the events of Open Plugins, of which it lets hooks block
//! two. The real client was not run.

use crate::config::json_value;
use crate::finding::{contents_of, shown};
use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "goose",
    title: "Goose",
    // It sets no variable for its commands.
    process: ProcessSigns { processes: &["goose", "goosed"], ..ProcessSigns::of(&["goose"]) },
    places: &[
        at(BOTH, HOOKS, Holds::Hooks),
        at(BOTH, SETTINGS, Holds::Beside),
        at(LOCAL, LOCAL_SETTINGS, Holds::Beside),
        at(HOME, CONFIG, Holds::Beside),
    ],
    moved_by: Some(MovedBy { variable: "GOOSE_PATH_ROOT", directory: "", reads_tilde: false }),
    config: ConfigFormat {
        entry: EntryForm {
            runs_sh: true,
            blocks_without_program: Some(("on_failure", "block")),
            ..EntryForm::GROUPED
        },
        ignores_whole_file: true,
        repository_switch: Some(
            "\"disabledPlugins\": [\"hookbox\"] in its .config/goose/settings.json, or a plugin of the name hookbox",
        ),
        ..ConfigFormat::BASE
    },
    wait: Wait::new(Unit::Seconds, 30),
    events: &[
        AgentEvent::new("SessionStart", EventKind::SessionStart).inject(LeftOut),
        AgentEvent::new("SessionEnd", EventKind::SessionEnd),
        AgentEvent::message("UserPromptSubmit", LeftOut, LeftOut).block(LeftOut),
        AgentEvent::before("PreToolUse", Blocks, Blocks, LeftOut),
        AgentEvent::after("PostToolUse", LeftOut, LeftOut).inject(LeftOut),
        AgentEvent::error("PostToolUseFailure", LeftOut, LeftOut),
        AgentEvent::stop("Stop"),
    ],
    unserved_events: "PreToolUseResult BeforeReadFile AfterFileEdit BeforeShellExecution AfterShellExecution",
    tools: ToolNames {
        names: "Bash=developer__shell Write=developer__write Edit=developer__edit LS=developer__tree",
        mcp_name: Some("SERVER__TOOL"),
        ..ToolNames::BASE
    },
    answers: Answers {
        write,
        shows_warnings: false,
        effect: |_, answer, _| effect::decision(answer, &["block"]).filter(Effect::is_blocked),
        ..Answers::BASE
    },
    sample_call: |call| {
        json!({
            "event": call.event.name, "session_id": call.session, "matcher_context": call.tool,
            "tool_call_id": "call_0", "tool_name": call.tool, "tool_input": {"command": call.line},
            "working_dir": call.cwd,
        })
    },
    doctor: DoctorRules { check, ..DoctorRules::BASE },
    ..Spec::BASE
};

/// The hooks of the plugin of hookbox.
const HOOKS: &str = ".agents/plugins/hookbox/hooks/hooks.json";

/// The settings that switch plugins off by their names.
const SETTINGS: &str = ".config/goose/settings.json";
const LOCAL_SETTINGS: &str = ".config/goose/settings.local.json";

/// The configuration in which Goose itself keeps the plugins that its user has switched off.
const CONFIG: &str = ".config/goose/config.yaml";

/// Checks that no settings switch the plugin off, and that no plugin of the project takes the place of the user's: of two
/// with one name, Goose loads that of the project.
fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    let path = |level, path| SPEC.path(conditions.surroundings, level, path);
    for (level, settings) in
        [(Level::User, SETTINGS), (Level::Project, SETTINGS), (Level::Local, LOCAL_SETTINGS)]
    {
        let Some(file) = path(level, settings) else { continue };
        let settings = contents_of(&file).map(|bytes| json_value(&bytes)).unwrap_or_default();
        let names = settings.get("disabledPlugins").and_then(Value::as_array);
        if names.is_some_and(|names| names.iter().any(|name| name == "hookbox")) {
            let message = format!("{} switches the plugin hookbox off, by \"disabledPlugins\"", shown(&file));
            found.fail("switch", message, "take hookbox out of the list");
        }
    }
    let config = path(Level::User, CONFIG).filter(|file| {
        let text = contents_of(file).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let mut lines = text.lines().skip_while(|line| !line.contains("/.agents/plugins/hookbox"));
        lines.next().is_some() && lines.next().is_some_and(|line| line.trim() == "enabled: false")
    });
    if let Some(file) = config {
        let message = format!("{} switches the plugin hookbox off", shown(&file));
        found.fail("switch", message, "switch it on in Goose's settings of plugins");
    }
    let plugin = path(Level::Project, ".agents/plugins/hookbox").filter(|_| conditions.level == Level::User);
    if let Some(plugin) = plugin.filter(|plugin| plugin.is_dir()) {
        let message = format!("Goose loads {} here, and not your own plugin of that name", shown(&plugin));
        found.fail("switch", message, "run hookbox install goose --project there");
    }
}

/// Writes the answers to Goose. It takes anything but a block for a hook that failed, so that a call that passes has none.
fn write(_: &AgentEvent, plan: &Plan) -> Map<String, Value> {
    match &plan.decision {
        Decision::Block(reason) | Decision::Ask(reason) | Decision::Stop(reason) => decision("block", reason),
        Decision::Pass => Map::new(),
    }
}
