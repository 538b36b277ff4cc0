//! The plugin for OpenCode, which runs no commands: a file of its own that calls hookbox.

use std::path::PathBuf;

use serde_json::Value;

use crate::agent::{Agent, Holds};
use crate::bridge::Bridge;
use crate::bridge::install::command::write;
use crate::bridge::install::desired::InstallOptions;
use crate::bridge::install::error::InstallError;
use crate::bridge::install::outcome::InstallFailure;
use crate::bridge::install::record::{Record, digest};
use crate::config::{Level, Surroundings};

/// The plugin as it is in the repository: it finds `hookbox` on PATH.
const PLUGIN: &str = include_str!("../../assets/opencode/hookbox.js");

/// The beginning of the file in every version.
const HEAD: &str = "/**\n * hookbox in OpenCode";

/// The part of the file that names the program and the home directory.
const PROGRAM: &str = "program: \"hookbox\", home: \"\"";

/// Returns true if an agent takes a plugin, and no entries.
pub(crate) fn is_for(agent: Agent) -> bool {
    agent == Agent::OpenCode
}

/// Returns the path of the plugin; `None` if there is no such level, or no home directory.
pub(crate) fn file(level: Level, surroundings: &Surroundings) -> Option<PathBuf> {
    let directory = Agent::OpenCode.places_at(level).find(|place| place.holds == Holds::Plugins)?;
    Some(surroundings.path(Agent::OpenCode, level, directory.path)?.join("hookbox.js"))
}

/// Returns the plugin for this program and home directory.
pub(crate) fn text(program: &str, home: Option<&str>) -> String {
    let (program, home) = (Value::from(program), Value::from(home.unwrap_or_default()));
    PLUGIN.replacen(PROGRAM, &format!("program: {program}, home: {home}"), 1)
}

/// The origin of a file that OpenCode loads as a plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PluginFile {
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

/// Recognises hookbox's plugin.
pub(crate) fn recognise(bytes: &[u8]) -> PluginFile {
    let ours = || {
        let (before, after) = PLUGIN.split_once(PROGRAM)?;
        let says = str::from_utf8(bytes).ok()?.strip_prefix(before)?.strip_suffix(after)?;
        let says = says.strip_prefix("program: ")?;
        let mut texts = serde_json::Deserializer::from_str(says).into_iter::<String>();
        let program = texts.next()?.ok()?;
        let home = says.get(texts.byte_offset()..)?.strip_prefix(", home: ")?;
        Some(PluginFile::Ours { program, home: serde_json::from_str(home).ok()? })
    };
    match ours() {
        Some(ours) => ours,
        None if bytes.starts_with(HEAD.as_bytes()) => PluginFile::Changed,
        None => PluginFile::Others,
    }
}

/// Returns the command of the plugin at an event, as a line for a shell.
pub(crate) fn line(program: &str, home: &str, event: &str) -> String {
    write(program, Agent::OpenCode, event, Some(home).filter(|home| !home.is_empty()), None, false)
}

/// Checks that the plugin has no other events or deadline than these options.
pub(crate) fn check(agent: Agent, options: &InstallOptions) -> Result<(), InstallFailure> {
    if options.events.is_empty() && options.deadline == Bridge::DEADLINE {
        Ok(())
    } else {
        Err(InstallFailure::Fixed { agent })
    }
}

/// Returns the agent's own names of the events that the plugin serves.
pub(crate) fn events(agent: Agent) -> Vec<String> {
    agent.events().iter().map(|it| it.name.to_owned()).collect()
}

/// Refuses to replace a file that somebody else has written or changed.
pub(crate) fn check_untouched(
    path: &std::path::Path,
    bytes: &[u8],
    known: Option<&Record>,
) -> Result<(), InstallError> {
    let what = match recognise(bytes) {
        PluginFile::Ours { .. } => return Ok(()),
        _ if known.is_some_and(|it| it.after == digest(bytes)) => return Ok(()),
        PluginFile::Changed => "is hookbox's plugin, but was changed since or comes from another version",
        PluginFile::Others => "is no plugin of hookbox",
    };
    Err(InstallError::new(path, what, "move the file away, and run the command again"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plugin_calls_the_program_that_was_asked_for() {
        assert_eq!(PLUGIN.matches(PROGRAM).count(), 1);
        assert!(PLUGIN.starts_with(HEAD));
        assert_eq!(text("hookbox", None), PLUGIN);
        let text = text("/opt/my \"box\"/hookbox", Some("/home/ada, home: \"x"));
        assert!(text.contains(r#"program: "/opt/my \"box\"/hookbox", home: "/home/ada, home: \"x","#));
        let ours =
            |program: &str, home: &str| PluginFile::Ours { program: program.into(), home: home.into() };
        for (bytes, want) in [
            (text.as_bytes(), ours("/opt/my \"box\"/hookbox", "/home/ada, home: \"x")),
            (PLUGIN.as_bytes(), ours("hookbox", "")),
            (format!("{text}\n").as_bytes(), PluginFile::Changed),
            (text.replace("\"deny\"", "\"allow\"").as_bytes(), PluginFile::Changed),
            (b"", PluginFile::Others),
            (b"export default () => {}", PluginFile::Others),
        ] {
            assert_eq!(recognise(bytes), want);
        }
        for (home, more) in [("", ""), ("/home/ada", " --home /home/ada")] {
            let want = format!("'/opt/a b/hookbox' bridge opencode --event dispose{more}");
            assert_eq!(line("/opt/a b/hookbox", home, "dispose"), want);
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
            assert_eq!(file(level, surroundings), want.map(PathBuf::from));
        }
    }
}
