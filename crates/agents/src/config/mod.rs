//! The hook configuration of the agents: its paths and its contents. Nothing here does I/O.
//!
//! ```
//! use hookbox_agents::config::{Level, Surroundings, file, read};
//! use hookbox_agents::Agent;
//!
//! let surroundings = Surroundings { home: Some("/home/ada".into()), ..Surroundings::new("/srv/shop") };
//! let path = file(Agent::Claude, Level::User, &surroundings).ok_or("no home directory")?;
//! assert_eq!(path.to_str(), Some("/home/ada/.claude/settings.json"));
//!
//! let text = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "guard", "timeout": 5}]}]}}"#;
//! let configuration = read(Agent::Claude, text.as_bytes())?;
//! let entry = &configuration.entries[0];
//! assert_eq!((entry.event.as_str(), entry.command.as_str(), entry.timeout.as_secs()), ("PreToolUse", "guard", 5));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod document;
pub(crate) mod entry;
mod read;

pub use self::document::DocumentError;
pub(crate) use self::document::{
    BY_HAND, ConfigText, HookTable, LIST_VERSION, hook_tables, hooks_json, json_error, json_value, only,
    parser_error, table as toml_table, text_of as toml_text, without_comments,
};
pub use self::entry::Entry;
pub use self::read::{Configuration, Problem, Switch, read};
pub(crate) use self::read::{
    hooks_of as toml_settings_hooks, is_on as has_toml_hooks, read_toml, switches, toml_settings,
    toml_switches,
};
pub use crate::agent::{Level, Surroundings};

use std::path::PathBuf;

use crate::Agent;

/// The name of hookbox's file in a directory whose files the agent reads all.
const OWN: &str = "hookbox.json";

/// Returns the file of hooks at a level. In Copilot CLI, which reads every file of a directory, it is
/// hookbox's own file. `None` if the agent has no such level, if there is no home directory, and for
/// an agent that runs plugins and no commands.
pub fn file(agent: Agent, level: Level, surroundings: &Surroundings) -> Option<PathBuf> {
    let (place, path) = agent.spec().files(surroundings, level).find(|(place, _)| place.has_hooks())?;
    Some(if place.is_directory() { path.join(OWN) } else { path })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Agent;
    use crate::spec::places::{Holds, HookPlace};

    fn surroundings(variables: &[(&str, &str)]) -> Surroundings {
        let value = |name: &str| variables.iter().find(|(it, _)| *it == name).map(|(_, value)| value.into());
        let here = Surroundings::new("/srv/shop").variables(value);
        Surroundings { home: Some("/home/ada".into()), system: "/image".into(), ..here }
    }

    /// The files of every agent for its user, a project, its user there, and the system.
    const FILES: &str = "
        claude /home/ada/.claude/settings.json /srv/shop/.claude/settings.json /srv/shop/.claude/settings.local.json /image/etc/claude-code/managed-settings.json
        codex /home/ada/.codex/hooks.json /srv/shop/.codex/hooks.json - /image/etc/codex/requirements.toml
        gemini /home/ada/.gemini/settings.json /srv/shop/.gemini/settings.json - /image/etc/gemini-cli/settings.json
        qwen /home/ada/.qwen/settings.json /srv/shop/.qwen/settings.json - /image/etc/qwen-code/settings.json
        copilot /home/ada/.copilot/hooks/hookbox.json /srv/shop/.github/hooks/hookbox.json - /image/etc/github-copilot/policy.d/hookbox.json
        cursor /home/ada/.cursor/hooks.json /srv/shop/.cursor/hooks.json - /image/etc/cursor/hooks.json
        kimi /home/ada/.kimi-code/config.toml - - -
        cline - - - -
        opencode - - - -
        pi - - - -
        droid /home/ada/.factory/settings.json /srv/shop/.factory/settings.json - /image/etc/factory/settings.json
        kilo - - - -
        vibe /home/ada/.vibe/hooks.toml /srv/shop/.vibe/hooks.toml - -
        openhands /home/ada/.openhands/hooks.json /srv/shop/.openhands/hooks.json - -
        auggie /home/ada/.augment/settings.json /srv/shop/.augment/settings.json - /image/etc/augment/settings.json
        qoder /home/ada/.qoder/settings.json /srv/shop/.qoder/settings.json /srv/shop/.qoder/settings.local.json -
        grok /home/ada/.grok/hooks/hookbox.json /srv/shop/.grok/hooks/hookbox.json - -
        antigravity /home/ada/.gemini/config/hooks.json /srv/shop/.agents/hooks.json - -
        crush /home/ada/.config/crush/crush.json /srv/shop/crush.json - -
        goose /home/ada/.agents/plugins/hookbox/hooks/hooks.json /srv/shop/.agents/plugins/hookbox/hooks/hooks.json - -
        devin /home/ada/.config/devin/config.json /srv/shop/.devin/config.json - -
        amp - - - -
        kiro /home/ada/.kiro/hooks/hookbox.json /srv/shop/.kiro/hooks/hookbox.json - -
    ";

    #[test]
    fn every_agent_has_its_file_at_every_level_that_it_knows() {
        let here = surroundings(&[]);
        let found = Agent::ALL.map(|agent| {
            let path = |level| file(agent, level, &here).unwrap_or_else(|| "-".into()).display().to_string();
            format!("{agent} {}", Level::ALL.map(path).join(" "))
        });
        let want: Vec<&str> = FILES.trim().lines().map(str::trim).collect();
        assert_eq!(found.as_slice(), want);
        assert_eq!(file(Agent::Codex, Level::User, &Surroundings::new("/srv/shop")), None);
    }

    #[test]
    fn what_install_writes_is_read_by_the_agent() {
        let here = surroundings(&[("CODEX_HOME", "/etc/c")]);
        let sources =
            |agent: Agent| Level::ALL.map(|level| agent.spec().files(&here, level)).into_iter().flatten();
        for agent in Agent::ALL {
            for path in Level::ALL.iter().filter_map(|level| file(agent, *level, &here)) {
                let is_read = |(place, at): (&HookPlace, PathBuf)| match place.holds {
                    Holds::Files => path.parent() == Some(&at),
                    Holds::Hooks | Holds::TomlHooks => path == at,
                    _ => false,
                };
                assert!(sources(agent).any(is_read), "{agent}: {}", path.display());
            }
        }
        assert!(sources(Agent::Codex).any(|(_, path)| path == Path::new("/etc/c/config.toml")));
        assert!(sources(Agent::Copilot).any(|(place, _)| matches!(place.holds, Holds::HooksOf(_))));
    }
}
