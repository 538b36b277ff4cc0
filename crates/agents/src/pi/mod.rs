//! Pi, checked with 0.73. It runs no commands at its events, but extensions in TypeScript or JavaScript:
//! `assets/pi/hookbox.js` is one, which writes and reads the JSON here.
//!
//! An extension that throws at `tool_call` blocks the call. At the other events Pi goes on after an error, so the plugin
//! never throws.

mod sessions;

use crate::config::json_value;
use crate::finding::{contents_of, shown};
use crate::spec::prelude::*;

pub(crate) static SPEC: Spec = Spec {
    name: "pi",
    title: "Pi",
    process: ProcessSigns {
        variables: &["PI_CODING_AGENT"],
        // Another program, which Debian has, is called `pi` as well: only the directory tells.
        commands: &[],
        processes: &["pi"],
        packages: &["pi-coding-agent"],
    },
    places: &[
        at(HOME, ".pi/agent/extensions", Holds::Plugins),
        at(HOME, SETTINGS, Holds::Beside),
        at(PROJECT, ".pi/extensions", Holds::Plugins),
        at(PROJECT, PROJECT_SETTINGS, Holds::Beside),
    ],
    moved_by: Some(MovedBy { variable: "PI_CODING_AGENT_DIR", directory: ".pi/agent", reads_tilde: true }),
    sessions: Some(&sessions::SESSIONS),
    config: ConfigFormat { parser: None, ..ConfigFormat::BASE },
    // The time that the plugin waits.
    wait: Wait::new(Unit::Seconds, 20),
    // Pi has no name for work that failed. `input` precedes `before_agent_start`, at which the model gets text.
    events: &[
        AgentEvent::new("session_start", EventKind::SessionStart).inject(Honoured),
        AgentEvent::new("session_shutdown", EventKind::SessionEnd),
        AgentEvent::message("input", Honoured, Honoured),
        AgentEvent::before("tool_call", Honoured, Honoured, Honoured),
        // A command that the user types behind `!`.
        AgentEvent::before("user_bash", Honoured, Blocks, Honoured),
        AgentEvent::after("tool_result", Honoured, Honoured),
        AgentEvent::error("agent_error", LeftOut, Honoured),
        AgentEvent::new("turn_end", EventKind::AfterTurn).inject(Honoured),
        AgentEvent::stop("agent_end"),
        AgentEvent::new("session_before_compact", EventKind::PreCompact).block(Honoured).inject(LeftOut),
        AgentEvent::new("session_compact", EventKind::PostCompact).inject(Honoured),
    ],
    tools: ToolNames {
        names: "Bash=bash Read=read Write=write Edit=edit Glob=find Grep=grep LS=ls",
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
    sample_call: |call| {
        let mut sample = call.to_plugin(json!({"command": call.line}));
        // A command of the user has no id.
        if let (Some(fields), "user_bash") = (sample.as_object_mut(), call.event.name) {
            fields.remove("tool_use_id");
        }
        sample
    },
    plugin: Some(PluginFile {
        file_name: "hookbox.js",
        text: concat!(include_str!("../../assets/pi/hookbox.js"), include_str!("../../assets/program.js")),
        head: "/**\n * hookbox in Pi",
        deadline: None,
    }),
    next_steps: &[(
        &Level::IN_PROJECT,
        "start pi in ROOT: it does not look above the directory where it starts",
    )],
    doctor: DoctorRules { check, off_words: &["--no-extensions", "-ne"], ..DoctorRules::BASE },
    ..Spec::BASE
};

/// The settings, which may leave extensions out.
const SETTINGS: &str = ".pi/agent/settings.json";
const PROJECT_SETTINGS: &str = ".pi/settings.json";

/// Checks that no settings leave the plugin out. A project's can leave out the user's own.
fn check(conditions: &Conditions<'_>, found: &mut Examination) {
    let name = conditions.file.file_name().unwrap_or_default().to_string_lossy();
    for (level, path) in [(Level::User, SETTINGS), (Level::Project, PROJECT_SETTINGS)] {
        if level == Level::User && conditions.level != level {
            continue;
        }
        let Some(file) = SPEC.path(conditions.surroundings, level, path) else { continue };
        let settings = contents_of(&file).map(|bytes| json_value(&bytes)).unwrap_or_default();
        let all = settings.get("extensions").and_then(Value::as_array).into_iter().flatten();
        if let Some(entry) = all.filter_map(Value::as_str).find(|it| leaves_out(it, &name)) {
            let message = format!("{} leaves the plugin out: {entry:?} in \"extensions\"", shown(&file));
            found.fail("switch", message, "remove that entry, or switch the extension on in pi config");
        }
    }
}

/// Returns true if an entry of `extensions` leaves a file of this name out: `-PATH`, or `!PATTERN`.
fn leaves_out(entry: &str, name: &str) -> bool {
    let Some(pattern) = entry.strip_prefix(['-', '!']) else { return false };
    let last = pattern.rsplit('/').next().unwrap_or_default();
    match last.split_once('*') {
        _ if last.contains(['?', '[', '{', '(']) => true,
        Some((head, tail)) => {
            name.starts_with(head) && name.ends_with(tail.rsplit('*').next().unwrap_or_default())
        }
        None => last == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_leaves_the_plugin_out_by_its_path_or_by_a_pattern() {
        for (entry, want) in [
            ("-extensions/hookbox.js", true),
            ("-/home/ada/.pi/agent/extensions/hookbox.js", true),
            ("!hookbox.js", true),
            ("!extensions/**", true),
            ("!**/hook*.js", true),
            ("!**/hookbo?.js", true),
            ("!extensions/legacy*.ts", false),
            ("-extensions/other.js", false),
            ("+extensions/hookbox.js", false),
            ("extensions/hookbox.js", false),
            ("", false),
        ] {
            assert_eq!(leaves_out(entry, "hookbox.js"), want, "{entry}");
        }
    }
}
