//! What hookbox itself consists of, what installs it, and where variables have moved what the agents know of it.

use std::path::PathBuf;

use crate::dialect::agent::{Agent, HookPlace, Level, Surroundings};

/// The name of the program.
const NAME: &str = "hookbox";

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
