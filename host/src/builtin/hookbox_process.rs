//! The program hookbox: its files, the program that answers for it, and the subcommands that install it into another program.

use std::path::PathBuf;

use rustix::process::geteuid;

use crate::files::program;

/// The name of the program.
const NAME: &str = "hookbox";

/// Programs that install other programs, and not hookbox into them.
const PACKAGERS: [&str; 31] = [
    "apk", "apt", "apt-get", "asdf", "brew", "bun", "cargo", "choco", "conda", "dnf", "flatpak", "gem", "go",
    "make", "mise", "nix", "npm", "npx", "pacman", "pip", "pip3", "pipx", "pnpm", "port", "scoop", "snap",
    "uv", "volta", "winget", "yarn", "yum",
];

/// Returns the files of the program, as it runs and as `PATH` finds it.
pub(super) fn files() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).filter(|it| it.is_absolute()).map(|it| it.join(NAME));
    let on_path = on_path.filter(|it| it.symlink_metadata().is_ok());
    on_path.chain(std::env::current_exe()).filter(|it| it.is_absolute()).collect()
}

/// Returns the paths at which `PATH` finds `git`, or would find one that is put there. If only root can change it, it counts
/// only for root.
pub(super) fn gits() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let directories = std::env::split_paths(&path).filter(|it| it.is_absolute());
    let with_real = |path: PathBuf| [path.canonicalize().ok(), Some(path)].into_iter().flatten();
    let all = directories.flat_map(with_real).map(|it| it.join("git")).flat_map(with_real);
    all.filter(|it| geteuid().is_root() || program::fixed(it).as_ref() != Some(it)).collect()
}

/// Returns `install` or `uninstall` if a program of any name does that to one of these targets: it may be hookbox.
pub(super) fn installs<'a>(
    program: &str,
    words: impl Iterator<Item = &'a str>,
    targets: &[&str],
) -> Option<&'static str> {
    if PACKAGERS.contains(&program) {
        return None;
    }
    let mut words = words.filter(|word| !word.starts_with('-'));
    let first = words.next()?;
    let subcommand = ["install", "uninstall"].into_iter().find(|it| *it == first)?;
    words.any(|word| targets.contains(&word)).then_some(subcommand)
}
