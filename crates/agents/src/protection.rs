//! The files that decide about the agents' hooks.

use hookbox::manager::Protection;

use crate::agent::{Agent, Level, Surroundings};
use crate::spec::HookPlace;

/// Directories with many other files.
const SHARED: [&str; 2] = [".github", ".github/copilot"];

/// Returns the files that decide about the agents' hooks, for `builtin:self-protection`: the usual ones, and
/// those that variables of this process have moved.
pub fn protection() -> Protection {
    // Without a home directory, only moved files have a path.
    let around = Surroundings::new("").variables(|name| std::env::var_os(name));
    let mut protection = Protection::default();
    for agent in Agent::ALL {
        let is_relative = |place: &&HookPlace| !place.levels.contains(&Level::System);
        protection.paths.extend(agent.spec().places.iter().filter(is_relative).map(|place| place.path));
        let moved = [Level::User, Level::System].map(|level| agent.spec().files(&around, level));
        let moved = moved.into_iter().flatten().map(|(_, path)| path);
        protection.places.extend(moved.filter(|path| path.is_absolute()));
        protection.targets.push(agent.as_str());
        let spec = agent.spec();
        protection.unseen_input.extend(spec.tools.unseen_input.map(|tool| (agent.as_str(), tool)));
        protection.command_files.extend(spec.command_files);
        let settings = spec.config.disable_settings.iter().filter(|it| it.within.is_none()).map(|it| it.key);
        let words = spec.doctor.off_words.iter().copied().chain(settings);
        let variables = spec.moved_by.iter().map(|it| it.variable).chain(spec.doctor.off_variable);
        protection.without_hooks.extend(words.chain(variables).map(|word| (agent.as_str(), word)));
    }
    protection.shared_directories.extend(SHARED);
    protection
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_decide_about_the_agents_hooks_are_protected() {
        let found = protection();
        for path in [
            ".claude/settings.json",
            ".claude/settings.local.json",
            ".claude/plugins",
            ".claude.json",
            ".codex/hooks.json",
            ".codex/config.toml",
            ".gemini/settings.json",
            ".gemini/trustedFolders.json",
            ".qwen/settings.json",
            ".qwen/trustedFolders.json",
            ".cursor/hooks.json",
            ".copilot/hooks",
            ".copilot/settings.json",
            ".copilot/config.json",
            ".github/hooks",
            ".github/copilot/settings.local.json",
            ".pi/agent/extensions",
            ".pi/agent/settings.json",
            ".pi/extensions",
            ".pi/settings.json",
            ".factory/settings.json",
            ".factory/hooks.json",
            ".vibe/hooks.toml",
            ".openhands/hooks.json",
            ".augment/settings.json",
            ".qoder/settings.json",
            ".grok/hooks",
            ".gemini/config/hooks.json",
            ".agents/hooks.json",
            ".config/crush/crush.json",
            "crush.json",
            ".agents/plugins/hookbox/hooks/hooks.json",
            ".config/goose/settings.json",
            ".config/devin/config.json",
            ".devin/hooks.v1.json",
            ".grok/disabled-hooks",
            ".qoder/settings.local.json",
            ".augment/settings.local.json",
            ".kilo/plugins",
            ".amp/plugins",
            ".kiro/hooks",
            ".kiro/agents",
            ".config/amp/plugins",
            ".opencode/plugin",
            ".opencode/plugins",
            ".config/opencode/plugins",
            ".config/opencode/opencode.json",
            "opencode.json",
            "opencode.jsonc",
        ] {
            assert!(found.paths.contains(&path), "{path}");
        }
        assert!(found.targets.contains(&"gemini"));
        assert_eq!(found.unseen_input, [("codex", "write_stdin")]);
        for word in [
            ("opencode", "--pure"),
            ("opencode", "OPENCODE_PURE"),
            ("kilo", "--pure"),
            ("gemini", "hooks disable"),
            ("amp", "PLUGINS"),
            ("kiro", "--v2"),
        ] {
            assert!(found.without_hooks.contains(&word), "{word:?}");
        }
        for path in ["/etc/codex/requirements.toml", "/etc/gemini-cli/settings.json"] {
            let is_there = found.places.iter().any(|it| it.as_os_str() == path);
            assert!(is_there || cfg!(target_os = "macos"), "{path}");
        }
    }
}
