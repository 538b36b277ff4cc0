//! Whole discoveries over temporary directories.

mod bounds;
mod gate;
mod rules;
mod settings;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Discovery, Entry, EntryStatus, Options, Problem};
use crate::outcome::Warning;
use crate::trust::TrustPolicy;

/// A file of a tree.
enum File<'a> {
    /// An executable script that subscribes to this event.
    Hook(&'a str),
    /// A script that prints this event, with this mode.
    Mode(u32, &'a str),
    /// An executable script of these lines.
    Script(&'a str),
    /// A file without an execute bit.
    Text(&'a str),
    /// A symlink to this target.
    Link(&'a str),
    /// An empty directory.
    Dir,
}

/// Returns the processor time of this thread, which other work on the machine does not change; zero if it is not known.
pub(super) fn processor_time() -> Duration {
    let known = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = known.split(' ').next().and_then(|it| it.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_default())
}

use File::{Dir, Hook, Link, Mode, Script, Text};

/// A directory with a repository `repo`, a home directory `home`, and further files.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, File<'_>)]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(tree.path("repo")).unwrap();
        fs::create_dir_all(tree.path("home")).unwrap();
        for (path, file) in files {
            tree.add(path, file);
        }
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn add(&self, path: &str, file: &File<'_>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match file {
            Hook(event) => self.script(&path, 0o755, &format!("[ \"$1\" = hook ] && echo {event}\n")),
            Mode(mode, event) => self.script(&path, *mode, &format!("echo {event}\n")),
            Script(lines) => self.script(&path, 0o755, lines),
            Text(text) => fs::write(path, text).unwrap(),
            Link(target) => symlink(target, path).unwrap(),
            Dir => fs::create_dir_all(path).unwrap(),
        }
    }

    /// Copies the script by another process. A script that this process writes may be open in a child of another test,
    /// so that it cannot be executed ("text file busy").
    fn script(&self, path: &Path, mode: u32, lines: &str) {
        let draft = self.path("draft");
        fs::write(&draft, format!("#!/bin/sh\n{lines}")).unwrap();
        assert!(Command::new("cp").arg(&draft).arg(path).status().unwrap().success());
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    }

    fn options(&self, trust: TrustPolicy) -> Options {
        Options { trust, ..Options::new(self.path("repo"), Some(self.path("home"))) }
    }

    fn discover(&self, trust: TrustPolicy) -> Discovery {
        discover(&self.options(trust))
    }
}

fn discover(options: &Options) -> Discovery {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(super::discover(options, &std::sync::Arc::default(), &crate::wasm::Runtime::default()))
}

/// The active hooks in run order, as `event:name`.
fn active(discovery: &Discovery) -> Vec<String> {
    discovery
        .entries
        .iter()
        .filter(|entry| entry.status == EntryStatus::Active)
        .map(|entry| format!("{}:{}", entry.events[0], entry.name))
        .collect()
}

/// Returns name and status of every entry.
fn statuses(discovery: &Discovery) -> Vec<(&str, &'static str)> {
    discovery.entries.iter().map(|entry| (entry.name.as_str(), entry.status.as_str())).collect()
}

/// Returns the names of the registered hooks in their order.
fn registered(discovery: &Discovery) -> Vec<&str> {
    discovery.hooks.iter().map(|hook| hook.descriptor().name.as_str()).collect()
}

fn entry<'a>(discovery: &'a Discovery, name: &str) -> &'a Entry {
    discovery.entries.iter().find(|entry| entry.name == name).unwrap()
}

/// Returns the failure of the hook of this name.
fn failure(discovery: &Discovery, name: &str) -> crate::hook::HookError {
    use crate::event::{Context, Event, EventData};
    let hook = discovery.hooks.iter().find(|hook| hook.descriptor().name == name).unwrap();
    let event = Event {
        context: std::sync::Arc::new(Context::new("c", "/")),
        data: EventData::TurnEnd { response: None, turn_number: None },
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(hook.run(&event, &hook.descriptor().budget)).unwrap_err()
}

/// Returns the problems, without the temporary directory.
fn problems(tree: &Tree, discovery: &Discovery) -> Vec<String> {
    let base = format!("{}/", tree.0.path().display());
    discovery.problems.iter().map(|problem| problem.to_string().replace(&base, "")).collect()
}

#[test]
fn only_the_failure_of_its_own_hook_is_what_a_problem_says() {
    let problem = Problem::new("/h/git.wasm", "is damaged: a section is cut").of("git.wasm");
    for (hook, text, want) in [
        ("git.wasm", "git.wasm failed (incompatible): is damaged: a section is cut", true),
        ("git.wasm", "git.wasm failed (exit): no disk", false),
        ("git.wasm", "is damaged", false),
        // Part of the message, and the failure of another hook: it is not silent.
        ("other", "other failed (exit): a", false),
        ("other", "other failed (exit): ", false),
    ] {
        let warning = Warning { hook: Some(hook.to_owned()), text: text.to_owned() };
        assert_eq!(problem.says(&warning), want, "{text}");
    }
}
