//! The file for an agent that runs no commands: a plugin in JavaScript that calls hookbox.

use std::path::PathBuf;

use serde_json::Value;

use crate::agent::bridge_command::write;
use crate::agent::{Agent, Surroundings};
use crate::spec::places::{Holds, Level};
use crate::spec::{PluginFile, Spec};

/// The part of the plugin that names the program and the home directory.
const PROGRAM: &str = "program: \"hookbox\", home: \"\"";

/// Returns the path of the plugin; `None` if there is no such level, no home directory, or no plugin for the
/// agent.
pub(super) fn file(spec: &'static Spec, level: Level, surroundings: &Surroundings) -> Option<PathBuf> {
    let plugin = spec.plugin.as_ref()?;
    let mut files = spec.files(surroundings, level);
    let (_, directory) = files.find(|(place, _)| matches!(place.holds, Holds::Plugins))?;
    Some(directory.join(plugin.file_name))
}

/// Returns the plugin for this program and home directory.
pub(super) fn text(plugin: &PluginFile, program: &str, home: Option<&str>) -> String {
    let (program, home) = (Value::from(program), Value::from(home.unwrap_or_default()));
    plugin.text.replacen(PROGRAM, &format!("program: {program}, home: {home}"), 1)
}

/// The origin of a file that an agent loads as a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// hookbox's plugin of this version.
    Ours {
        /// The program that it calls.
        program: String,
        /// Its home directory; empty for any.
        home: String,
    },
    /// hookbox's plugin, of another version or changed since.
    Changed,
    /// Another plugin.
    Others,
}

impl Origin {
    /// Returns the problem with a file of this origin.
    pub(super) fn problem(&self) -> Option<&'static str> {
        match self {
            Self::Ours { .. } => None,
            Self::Changed => Some("is hookbox's plugin, but was changed since or comes from another version"),
            Self::Others => Some("is not a plugin of hookbox"),
        }
    }
}

/// Recognizes hookbox's plugin.
pub(super) fn recognize(plugin: &PluginFile, bytes: &[u8]) -> Origin {
    let ours = || {
        let (before, after) = plugin.text.split_once(PROGRAM)?;
        let options = str::from_utf8(bytes).ok()?.strip_prefix(before)?.strip_suffix(after)?;
        let options = options.strip_prefix("program: ")?;
        let mut texts = serde_json::Deserializer::from_str(options).into_iter::<String>();
        let program = texts.next()?.ok()?;
        let home = options.get(texts.byte_offset()..)?.strip_prefix(", home: ")?;
        Some(Origin::Ours { program, home: serde_json::from_str(home).ok()? })
    };
    match ours() {
        Some(ours) => ours,
        None if bytes.starts_with(plugin.head.as_bytes()) => Origin::Changed,
        None => Origin::Others,
    }
}

/// Returns the command of the plugin at an event, as a line for a shell.
pub(super) fn line(agent: Agent, program: &str, home: &str, event: &str) -> String {
    let deadline = agent.spec().plugin.as_ref().and_then(|plugin| plugin.deadline);
    write(program, agent, event, Some(home).filter(|home| !home.is_empty()), &[], deadline, false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Agent;

    #[test]
    fn the_plugin_calls_the_program_that_was_asked_for() {
        for agent in Agent::ALL {
            let Some(plugin) = &agent.spec().plugin else { continue };
            assert_eq!(plugin.text.matches(PROGRAM).count(), 1, "{agent}");
            assert!(plugin.text.starts_with(plugin.head), "{agent}");
        }
        let plugin = Agent::OpenCode.spec().plugin.as_ref().unwrap();
        assert_eq!(text(plugin, "hookbox", None), plugin.text);
        let text = text(plugin, "/opt/my \"box\"/hookbox", Some("/home/ada, home: \"x"));
        assert!(text.contains(r#"program: "/opt/my \"box\"/hookbox", home: "/home/ada, home: \"x","#));
        let ours = |program: &str, home: &str| Origin::Ours { program: program.into(), home: home.into() };
        for (bytes, want) in [
            (text.as_bytes(), ours("/opt/my \"box\"/hookbox", "/home/ada, home: \"x")),
            (plugin.text.as_bytes(), ours("hookbox", "")),
            (format!("{text}\n").as_bytes(), Origin::Changed),
            (text.replace("\"deny\"", "\"allow\"").as_bytes(), Origin::Changed),
            (b"", Origin::Others),
            (b"export default () => {}", Origin::Others),
        ] {
            assert_eq!(recognize(plugin, bytes), want);
        }
        for (home, more) in [("", ""), ("/home/ada", " --home /home/ada")] {
            let want = format!("'/opt/a b/hookbox' bridge opencode --event dispose{more}");
            assert_eq!(line(Agent::OpenCode, "/opt/a b/hookbox", home, "dispose"), want);
        }
    }

    #[test]
    fn it_goes_where_opencode_looks() {
        let here = Surroundings { home: Some("/home/ada".into()), ..Surroundings::new("/srv/shop") };
        let moved = here.clone().variables(|name| (name == "XDG_CONFIG_HOME").then(|| "/etc/c".into()));
        for (level, surroundings, want) in [
            (Level::User, &here, Some("/home/ada/.config/opencode/plugins/hookbox.js")),
            (Level::User, &moved, Some("/etc/c/opencode/plugins/hookbox.js")),
            (Level::Project, &here, Some("/srv/shop/.opencode/plugins/hookbox.js")),
            (Level::Local, &here, None),
        ] {
            assert_eq!(file(Agent::OpenCode.spec(), level, surroundings), want.map(PathBuf::from));
        }
    }
}
