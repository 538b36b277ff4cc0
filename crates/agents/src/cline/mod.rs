//! Cline's CLI, checked with 3.0. It runs scripts at its events, and plugins in JavaScript;
//! `assets/cline/hookbox.js` is a plugin, which writes and reads the JSON here.
//!
//! A script is a weak guard: whatever it does but to print `cancel` in time, the tool runs, and `cancel` ends the
//! run without a word to the user or the model. For a plugin that throws, ends or hangs, Cline ends the run, and a
//! tool that a plugin skips is an error with the reason. Cline waits 3 s for a plugin.

use std::path::Path;

use crate::config::json_value;
use crate::finding::{contents_of, real, shown, variable};
use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "cline",
    title: "Cline",
    // It sets this for its commands and its hub.
    process: ProcessSigns {
        variables: &["CLINE_CONNECTOR_CLI_LAUNCH"],
        processes: &["cline", ".cline"],
        packages: &["cline"],
        ..ProcessSigns::of(&["cline"])
    },
    places: &[
        at(BOTH, ".cline/plugins", Holds::Plugins),
        at(HOME, "Documents/Cline/Plugins", Holds::Plugins),
        at(BOTH, ".cline/hooks", Holds::Beside),
        at(HOME, "Documents/Cline/Hooks", Holds::Beside),
        at(PROJECT, ".clinerules/hooks", Holds::Beside),
        at(HOME, SETTINGS, Holds::Beside),
    ],
    moved_by: Some(MovedBy { variable: "CLINE_DIR", directory: ".cline", reads_tilde: false }),
    config: ConfigFormat { parser: None, ..ConfigFormat::BASE },
    wait: Wait::new(Unit::Seconds, 3),
    // The names of a plugin's functions; Cline has no name for a run that failed.
    events: &[
        AgentEvent::new("setup", EventKind::SessionStart).inject(Honoured),
        AgentEvent::message("beforeRun", Blocks, Honoured),
        AgentEvent::before("beforeTool", Honoured, Honoured, Honoured),
        AgentEvent::after("afterTool", Honoured, Honoured),
        AgentEvent::error("runFailed", LeftOut, LeftOut),
        AgentEvent::stop("afterRun").follow_up(LeftOut),
    ],
    tools: ToolNames { names: "Bash=run_commands", ..ToolNames::BASE },
    tool_success,
    answers: Answers {
        takes_input: |was, new| was.get("commands").is_none() || new.get("commands").is_some_and(is_lines),
        changed_output: |_, _, new| ChangedOutput::Whole(new.clone()),
        ..Answers::TO_PLUGIN
    },
    sample_call: |call| call.to_plugin(json!({"commands": [call.line]})),
    plugin: Some(PluginFile {
        file_name: "hookbox.js",
        text: concat!(include_str!("../../assets/cline/hookbox.js"), include_str!("../../assets/program.js"),),
        head: "/**\n * hookbox in Cline",
        deadline: Some(Duration::from_secs(2)),
    }),
    next_steps: &[
        (&Level::IN_PROJECT, "start cline in ROOT: it does not look above the directory where it starts"),
        (
            &Level::ALL,
            "run hookbox doctor cline, also after each new component: it compiles them, and cline waits 3 s",
        ),
    ],
    doctor: DoctorRules { check, ..DoctorRules::BASE },
    ..Spec::BASE
};

/// Returns true for a list of command lines.
fn is_lines(commands: &Value) -> bool {
    commands.as_array().is_some_and(|lines| lines.iter().all(Value::is_string))
}

/// Returns false if an output has an error, or one of its parts is not a success.
fn tool_success(output: &Value, _: Option<i32>) -> Option<bool> {
    let has_failed = |part: &Value| {
        part.get("success") == Some(&Value::Bool(false)) || part.get("error").is_some_and(|it| !it.is_null())
    };
    Some(!has_failed(output) && !output.as_array().is_some_and(|parts| parts.iter().any(has_failed)))
}

/// The settings with the list of plugins that are switched off.
const SETTINGS: &str = ".cline/data/settings/global-settings.json";

/// Checks that Cline's settings do not switch the plugin off.
fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    let moved = variable("CLINE_GLOBAL_SETTINGS_PATH").map(Into::into);
    let file = moved.or_else(|| SPEC.path(conditions.surroundings, Level::User, SETTINGS));
    let Some(file) = file else { return };
    let settings = contents_of(&file).map(|bytes| json_value(&bytes)).unwrap_or_default();
    if is_off(&settings, conditions.file) {
        let message = format!("{} switches the plugin off (disabledPlugins)", shown(&file));
        found.fail("switch", message, "switch it on again in Cline's list of plugins");
    }
}

fn is_off(settings: &Value, plugin: &Path) -> bool {
    let all = settings.get("disabledPlugins").and_then(Value::as_array).into_iter().flatten();
    all.filter_map(Value::as_str).any(|it| Path::new(it) == plugin || real(Path::new(it)) == real(plugin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_has_failed_if_a_part_of_it_has() {
        for (output, want) in [
            (json!([{"query": "ls", "result": "", "success": true}]), true),
            (json!([{"success": true}, {"result": "oops", "error": "exit code 3", "success": false}]), false),
            (json!({"error": "no such tool"}), false),
            (json!({"error": null, "result": "x"}), true),
            (json!("text"), true),
            (Value::Null, true),
        ] {
            assert_eq!(tool_success(&output, None), Some(want), "{output}");
        }
    }
}
