//! The program hookbox: its files, the program that answers for it, and the subcommands that install it into another program.

use std::path::PathBuf;

use hookbox_shell::{Arg, base_name};
use rustix::process::geteuid;

use super::programs::is_hookbox;
use crate::files::program;
use crate::pattern;

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

/// Options with which a program selects processes otherwise than by a pattern.
const SELECTORS: [&str; 14] = [
    "-u",
    "-U",
    "-t",
    "-g",
    "-G",
    "-P",
    "-s",
    "--user",
    "--euid",
    "--uid",
    "--tty",
    "--group",
    "--parent",
    "--session",
];

/// The subcommands with which these programs remove another one.
const REMOVES: [&str; 15] = [
    "autoremove",
    "del",
    "delete",
    "erase",
    "purge",
    "remove",
    "rm",
    "un",
    "uninstall",
    "unlink",
    "-R",
    "-Rs",
    "-Rns",
    "-e",
    "--remove",
];

/// Returns true if a package manager removes hookbox.
pub(super) fn is_removed<'a>(program: &str, words: impl Iterator<Item = &'a str>) -> bool {
    let words: Vec<&str> = words.collect();
    let is_packager =
        PACKAGERS.contains(&program) || matches!(program, "dpkg" | "rpm" | "apt-mark" | "rustup");
    let named = |word: &&str| is_hookbox(word.rsplit('/').next().unwrap_or(word));
    is_packager && words.iter().any(|word| REMOVES.contains(word)) && words.iter().any(named)
}

/// Returns true if a command selects processes, and hookbox may be among them: by a pattern that matches one of its command
/// lines or cannot be read, by its user, or all of them.
pub(super) fn selects(words: &[Arg], targets: &[&str]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    match base_name(&program.text) {
        // The number -1 is all processes. After the signal, which it may be as well.
        "kill" => rest.iter().enumerate().any(|(at, it)| it.text == "-1" && (at > 0 || rest.len() == 1)),
        "killall5" => true,
        name @ ("pkill" | "pgrep" | "killall" | "skill" | "grep" | "egrep" | "rg") => {
            let is_search = matches!(name, "grep" | "egrep" | "rg");
            let (mut patterns, mut by_user) = (Vec::new(), false);
            let mut words = rest.iter().map(|it| it.text.as_str());
            while let Some(word) = words.next() {
                by_user |= matches!(word, "-u" | "-U" | "--user" | "--euid" | "--uid");
                if !is_search && SELECTORS.contains(&word) {
                    words.next();
                } else if !word.starts_with('-') {
                    patterns.push(word);
                }
            }
            // Of a search, the others are files.
            patterns.truncate(if is_search { 1 } else { patterns.len() });
            by_user && patterns.is_empty() || patterns.iter().any(|it| fits(it, targets))
        }
        _ => false,
    }
}

/// Returns true if a regular expression matches a command line of hookbox, or is none. A variable may be any text.
fn fits(text: &str, targets: &[&str]) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut known = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        known.push_str(before);
        let name =
            after.trim_start_matches(['{', '(']).trim_start_matches(is_name).trim_start_matches(['}', ')']);
        known.push_str(if name.len() == after.len() { "$" } else { ".*" });
        rest = name;
    }
    known.push_str(rest);
    let Ok(expression) = pattern::compile(&format!("(?i){known}")) else { return true };
    command_lines(targets).iter().any(|line| expression.is_match(line))
}

/// Returns the beginnings of the command lines of hookbox below an agent, each with one more word.
fn command_lines(targets: &[&str]) -> Vec<String> {
    let mut lines = Vec::new();
    for shell in ["", "sh -c "] {
        for target in targets {
            for before in ["PreToolUse", "BeforeTool", "preToolUse"] {
                let line = format!(
                    "{shell}/usr/bin/hookbox bridge {target} --event {before} --deadline 15s --strict"
                );
                let ends = line.match_indices(' ').map(|(at, _)| at).chain([line.len()]);
                lines.extend(ends.filter_map(|end| line.get(..end)).map(str::to_owned));
            }
        }
    }
    lines.sort();
    lines.dedup();
    lines
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
