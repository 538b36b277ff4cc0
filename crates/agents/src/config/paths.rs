//! The paths of an agent's hook configuration.

use std::path::PathBuf;

use crate::agent::surroundings::Surroundings;
use crate::spec::Spec;
use crate::spec::places::{Holds, Level};

/// The name of hookbox's file in a directory whose files the agent reads all.
const OWN: &str = "hookbox.json";

/// Returns the file of hooks at a level, or hookbox's own one in a directory of such files.
pub(crate) fn hooks_file(spec: &Spec, level: Level, surroundings: &Surroundings) -> Option<PathBuf> {
    let place = spec.places_at(level).find(|place| place.has_hooks())?;
    let path = spec.path(surroundings, level, place.path)?;
    Some(if place.is_directory() { path.join(OWN) } else { path })
}

/// A file or directory in which an agent finds hooks.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// The level.
    pub(crate) level: Level,
    /// The path.
    pub(crate) path: PathBuf,
    /// The kind of its contents.
    pub(crate) holds: Holds,
}

/// Returns the files and directories in which an agent finds hooks, the user's first. Plugins, extensions and
/// the files of an organization are not among them.
pub(crate) fn sources(spec: &Spec, surroundings: &Surroundings) -> Vec<Source> {
    let all = Level::ALL.into_iter().flat_map(|level| spec.places_at(level).map(move |it| (level, it)));
    let read = all.filter(|(_, place)| !matches!(place.holds, Holds::Plugins | Holds::Beside));
    read.filter_map(|(level, place)| {
        Some(Source { level, path: spec.path(surroundings, level, place.path)?, holds: place.holds })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Agent;
    use crate::config::file;

    fn surroundings(variables: &[(&str, &str)]) -> Surroundings {
        let value = |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| value.into());
        Surroundings { home: Some("/home/ada".into()), ..Surroundings::new("/srv/shop") }.variables(value)
    }

    #[test]
    fn every_agent_has_its_file_at_every_level_that_it_knows() {
        let here = surroundings(&[]);
        for (agent, want) in [
            (
                Agent::Claude,
                [
                    "/home/ada/.claude/settings.json",
                    "/srv/shop/.claude/settings.json",
                    "/srv/shop/.claude/settings.local.json",
                ],
            ),
            (Agent::Codex, ["/home/ada/.codex/hooks.json", "/srv/shop/.codex/hooks.json", ""]),
            (Agent::Gemini, ["/home/ada/.gemini/settings.json", "/srv/shop/.gemini/settings.json", ""]),
            (Agent::Qwen, ["/home/ada/.qwen/settings.json", "/srv/shop/.qwen/settings.json", ""]),
            (
                Agent::Copilot,
                ["/home/ada/.copilot/hooks/hookbox.json", "/srv/shop/.github/hooks/hookbox.json", ""],
            ),
            (Agent::Cursor, ["/home/ada/.cursor/hooks.json", "/srv/shop/.cursor/hooks.json", ""]),
            (Agent::OpenCode, ["", "", ""]),
        ] {
            let found = Level::ALL.map(|level| {
                file(agent, level, &here).map(|path| path.to_string_lossy().into_owned()).unwrap_or_default()
            });
            assert_eq!(found, want.map(str::to_owned), "{agent}");
        }
        assert_eq!(file(Agent::Codex, Level::User, &Surroundings::new("/srv/shop")), None);
    }

    #[test]
    fn what_install_writes_is_read_by_the_agent() {
        let here = surroundings(&[("CODEX_HOME", "/etc/c")]);
        for agent in Agent::ALL {
            let sources = sources(agent.spec(), &here);
            for path in Level::ALL.iter().filter_map(|level| file(agent, *level, &here)) {
                let is_read = |it: &Source| match it.holds {
                    Holds::Files => path.parent() == Some(&it.path),
                    Holds::Hooks => path == it.path,
                    _ => false,
                };
                assert!(sources.iter().any(is_read), "{agent}: {}", path.display());
            }
        }
        let codex = sources(Agent::Codex.spec(), &here);
        assert!(codex.iter().any(|it| it.path == Path::new("/etc/c/config.toml")));
        let copilot = sources(Agent::Copilot.spec(), &here);
        assert!(copilot.iter().any(|it| matches!(it.holds, Holds::HooksOf(_))));
    }
}
