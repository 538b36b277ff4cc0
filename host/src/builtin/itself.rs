//! What hookbox itself consists of, what ends it, and where variables have moved what the agents know of it.

use std::path::PathBuf;

use crate::dialect::agent::{Agent, HookPlace, Level, Surroundings};
use crate::event::ToolKind;
use crate::facts;

/// The name of the program.
const NAME: &str = "hookbox";

/// Programs that end others.
const ENDERS: [&str; 4] = ["kill", "pkill", "killall", "skill"];

/// Programs that install agents, and not hookbox into them.
const PACKAGERS: [&str; 31] = [
    "apk", "apt", "apt-get", "asdf", "brew", "bun", "cargo", "choco", "conda", "dnf", "flatpak", "gem", "go",
    "make", "mise", "nix", "npm", "npx", "pacman", "pip", "pip3", "pipx", "pnpm", "port", "scoop", "snap",
    "uv", "volta", "winget", "yarn", "yum",
];

/// The program as it runs, as the PATH finds it, and what decides about the agents' hooks where variables have moved it.
pub(super) fn places() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).filter(|it| it.is_absolute()).map(|it| it.join(NAME));
    let mut places: Vec<PathBuf> = on_path.filter(|it| it.symlink_metadata().is_ok()).collect();
    places.extend(std::env::current_exe());
    // Nobody's home, so that there is only what was moved.
    let around = Surroundings::new("").variables(|name| std::env::var_os(name));
    for agent in Agent::ALL {
        let moved = |it: &HookPlace| around.path(agent, Level::User, it.path);
        places.extend(agent.places_at(Level::User).filter_map(moved));
    }
    places.retain(|it| it.is_absolute());
    places
}

/// Whether a command, of the program with this name, may end hookbox: it names it, or a command that does so feeds it.
pub(super) fn is_ended<'a>(program: &str, mut words: impl Iterator<Item = &'a str>) -> bool {
    let is_ours = |word: &str| word.to_ascii_lowercase().contains(NAME);
    ENDERS.contains(&program) && words.any(is_ours)
}

/// What a program under any name may do to an agent: `install`, or `uninstall`, and the agent's name.
pub(super) fn installs<'a>(program: &str, words: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    if PACKAGERS.contains(&program) {
        return None;
    }
    let mut words = words.filter(|word| !word.starts_with('-'));
    let first = words.next()?;
    let subcommand = ["install", "uninstall"].into_iter().find(|it| *it == first)?;
    words.any(|word| Agent::ALL.iter().any(|agent| agent.as_str() == word)).then_some(subcommand)
}

/// What the tool of a server may be called for itself: `mcp__files__write_file`, `mcp_files_write_file` and
/// `files-write_file` are `write_file`. Only names of tools that run, write or edit.
pub(super) fn tool_of_server(name: &str) -> Option<&str> {
    let ends =
        name.match_indices(['_', '-', ':', '.', '/']).map(|(at, _)| name.get(at + 1..).unwrap_or_default());
    ends.take(16)
        .map(|tool| tool.trim_start_matches(['_', '-', ':', '.', '/']))
        .find(|tool| matches!(facts::kind_of(tool), ToolKind::Shell | ToolKind::Write | ToolKind::Edit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_of_a_server_is_known_by_the_end_of_its_name() {
        for (name, want) in [
            ("mcp__fs__write_file", Some("write_file")),
            ("mcp_fs_write_file", Some("write_file")),
            ("fs-write_file", Some("write_file")),
            ("mcp_fs_read_file", None),
            ("list_issues", None),
            ("", None),
        ] {
            assert_eq!(tool_of_server(name), want, "{name}");
        }
    }
}
