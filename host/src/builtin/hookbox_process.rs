//! The program hookbox: its files, the program that answers for it, and the subcommands that install it into another program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use hookbox_shell::{Arg, base_name, is_in};
use rustix::process::geteuid;

use super::programs::is_hookbox;
use crate::pattern;
use hookbox_system::files::program;

/// The name of the program.
const NAME: &str = "hookbox";

/// Programs that install other programs, and not hookbox into them.
const PACKAGERS: [&str; 33] = [
    "apk", "apt", "apt-get", "asdf", "brew", "bun", "cargo", "choco", "cmake", "conda", "dnf", "flatpak",
    "gem", "go", "make", "meson", "mise", "nix", "npm", "npx", "pacman", "pip", "pip3", "pipx", "pnpm",
    "port", "scoop", "snap", "uv", "volta", "winget", "yarn", "yum",
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

/// Options of these programs with a value that is no pattern.
const VALUES: &str = "-u -U -t -g -G -P -s -A -B -C -m -y --user --euid --uid --tty --group --parent --session --signal \
    --after-context --before-context --context --max-count";

/// Package managers, each with the words by which it removes or replaces a program. One that ends with `*` begins such a
/// word.
const REPLACES: [(&str, &str); 13] = [
    ("apk port pkg", "del delete uninstall add install upgrade"),
    ("apt apt-get aptitude", "remove purge autoremove install reinstall"),
    (
        "asdf mise brew choco flatpak gem scoop snap volta winget nix guix",
        "uninstall remove rm unlink install upgrade reinstall",
    ),
    ("cargo", "uninstall install binstall install-update"),
    ("go", "install"),
    ("pip pip3 pipx uv", "uninstall"),
    ("conda", "remove uninstall"),
    ("dnf yum zypper", "remove rm erase install in reinstall upgrade swap"),
    ("dpkg emerge", "-r -P -C --remove --purge --unmerge --depclean"),
    ("nix-env", "-e --uninstall"),
    ("npm pnpm yarn bun", "uninstall remove rm un r unlink install i add update"),
    ("pacman", "-R* --remove -S -Sy* -Su* -U*"),
    ("rpm", "-e --erase"),
];

/// Returns the directories into which a package manager installs by an option or a variable.
pub(super) fn roots(program: &str, words: &[&str]) -> Vec<String> {
    let is_root =
        |it: &str| is_in("--root --prefix --install-dir --target-dir --target --destdir PREFIX DESTDIR", it);
    let next = words.windows(2).filter_map(|it| match it {
        [option, value] if is_root(option) => Some(*value),
        _ => None,
    });
    let joined = words.iter().filter_map(|it| it.split_once('=')).filter(|it| is_root(it.0)).map(|it| it.1);
    next.chain(joined).filter(|_| PACKAGERS.contains(&program)).map(str::to_owned).collect()
}

/// Returns true if a package manager removes or replaces hookbox on the machine, not in a project.
pub(super) fn is_replaced<'a>(program: &'a str, words: impl Iterator<Item = &'a str>) -> bool {
    let mut words: Vec<&str> = words.collect();
    let mut program = program;
    // `python3 -m pip uninstall`
    if program.starts_with("python") && words.first() == Some(&"-m") && words.len() > 1 {
        program = words.remove(1);
    }
    let has = |list: &str, word: &str| list.split(' ').any(|it| it == word);
    let Some((_, removes)) = REPLACES.iter().find(|(programs, _)| has(programs, program)) else {
        return false;
    };
    let takes = |word: &str| {
        let begins = |it: &str| it.strip_suffix('*').is_some_and(|it| word.starts_with(it));
        removes.split(' ').any(|it| it == word || begins(it))
    };
    let is_of_machine = !matches!(program, "npm" | "pnpm" | "yarn" | "bun")
        || words.iter().any(|word| matches!(*word, "-g" | "--global" | "global" | "--location=global"));
    // `uv tool uninstall`, `yarn global remove`
    let mut named = words.iter().skip_while(|word| !takes(word));
    let is_early = words.iter().take(3).any(|word| takes(word));
    is_of_machine && is_early && named.next().is_some() && named.any(|word| is_package(word))
}

/// Returns true if a package is hookbox: by its name, its address, or the directory that it is made from
/// (`@hookbox/cli`, `cargo:hookbox`, `nixpkgs#hookbox`, `hookbox@1.0`).
fn is_package(word: &str) -> bool {
    let of_part = |part: &str| {
        let name = part.split('@').find(|it| !it.is_empty()).unwrap_or_default();
        is_hookbox(name.trim_matches(['*', '.', '\'']))
    };
    // The user's own directory of that name, such as `./hookbox-plugin/tests`, is another package.
    let parts: Vec<&str> = word.split(['/', ':', '#']).filter(|it| !it.is_empty()).collect();
    parts.last().is_some_and(|it| of_part(it))
        || word.starts_with('@') && parts.first().is_some_and(|it| of_part(it))
}

/// Returns true if a command selects processes by other signs than a number, as those do that only search.
pub(super) fn is_search(words: &[Arg]) -> bool {
    words
        .first()
        .is_some_and(|it| matches!(base_name(&it.text), "pgrep" | "grep" | "egrep" | "rg" | "awk" | "gawk"))
}

/// The command lines of hookbox below an agent, and the patterns that were compared with them.
pub(super) struct CommandLines {
    lines: Vec<String>,
    /// True for a pattern that matches one.
    compared: BTreeMap<String, bool>,
}

impl CommandLines {
    /// The number of patterns that are compared. A line with more selects hookbox.
    const MAX: usize = 32;

    /// Returns the lines for these agents: each beginning, because a pattern may name the end of the line.
    pub(super) fn new(targets: &[&str]) -> Self {
        let mut lines = BTreeSet::new();
        for target in targets {
            for event in ["PreToolUse", "BeforeTool", "preToolUse"] {
                let line =
                    format!("sh -c /usr/bin/hookbox bridge {target} --event {event} --deadline 15s --strict");
                let ends = line.match_indices(' ').map(|(at, _)| at).chain([line.len()]);
                let whole = ends.filter_map(|end| line.get(..end));
                lines.extend(
                    whole.flat_map(|it| [Some(it), it.strip_prefix("sh -c ")]).flatten().map(str::to_owned),
                );
            }
        }
        Self { lines: lines.into_iter().collect(), compared: BTreeMap::new() }
    }

    /// Returns true if a command selects processes, and hookbox may be among them: by a pattern that matches one of its
    /// command lines or cannot be read, by its user, or all of them.
    pub(super) fn has(&mut self, words: &[Arg]) -> bool {
        let Some((program, rest)) = words.split_first() else { return false };
        match base_name(&program.text) {
            // The number -1 is all processes. After the signal, which it may be as well.
            "kill" => rest.iter().enumerate().any(|(at, it)| it.text == "-1" && (at > 0 || rest.len() == 1)),
            "killall5" => true,
            "awk" | "gawk" => rest.iter().any(|it| {
                let (Some(start), Some(end)) = (it.text.find('/'), it.text.rfind('/')) else { return false };
                it.text.get(start + 1..end).is_some_and(|pattern| self.fits(pattern))
            }),
            name @ ("pkill" | "pgrep" | "killall" | "skill" | "grep" | "egrep" | "rg") => {
                let is_search = matches!(name, "grep" | "egrep" | "rg");
                let (mut patterns, mut by_user, mut inverts, mut is_over) = (Vec::new(), false, false, false);
                let mut words = rest.iter().map(|it| it.text.as_str());
                while let Some(word) = words.next() {
                    if is_over || !word.starts_with('-') {
                        patterns.push(word);
                        continue;
                    }
                    is_over = word == "--";
                    by_user |= matches!(word, "-u" | "-U" | "--user" | "--euid" | "--uid");
                    inverts |= !is_search && matches!(word, "-v" | "--inverse");
                    // The pattern of a search may be the value of an option.
                    if is_search && matches!(word, "-e" | "--regexp") {
                        patterns.insert(0, words.next().unwrap_or_default());
                    } else if is_in(VALUES, word)
                        || name == "killall" && matches!(word, "-o" | "--older-than")
                    {
                        words.next();
                    }
                }
                // The further words of a search are files.
                patterns.truncate(if is_search { 1 } else { patterns.len() });
                inverts || by_user && patterns.is_empty() || patterns.iter().any(|it| self.fits(it))
            }
            _ => false,
        }
    }

    /// Returns true if a regular expression matches a line, or is none. A variable may be any text.
    fn fits(&mut self, text: &str) -> bool {
        if let Some(known) = self.compared.get(text) {
            return *known;
        }
        if self.compared.len() >= Self::MAX {
            return true;
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (mut pattern, mut rest) = (String::new(), text);
        while let Some((before, after)) = rest.split_once('$') {
            pattern.push_str(before);
            let bare = after.trim_start_matches(['{', '(']);
            rest = bare.trim_start_matches(is_name).trim_start_matches(['}', ')']);
            pattern.push_str(if rest.len() == after.len() { "$" } else { ".*" });
        }
        pattern.push_str(rest);
        let expression = pattern::compile(&format!("(?i){pattern}"));
        let fits = expression.map_or(true, |it| self.lines.iter().any(|line| it.is_match(line)));
        self.compared.insert(text.to_owned(), fits);
        fits
    }
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
