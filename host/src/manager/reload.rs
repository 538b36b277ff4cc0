//! Reloading hooks and settings while sessions run.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::{Path, PathBuf};

use super::{Manager, Plan};
use crate::discovery::{Entry, EntryStatus, Kept, Problem};
use crate::live::Snapshot;
use hookbox_system::text;

/// The changes of one [`Manager::reload`]. Hooks are the rows of [`Manager::entries`], by full name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Reload {
    /// Hooks that are new.
    pub added: Vec<String>,
    /// Hooks that are gone.
    pub removed: Vec<String>,
    /// Hooks with other bytes, settings, rights or status than before.
    pub changed: Vec<Changed>,
    /// The files that are broken now and stay in force as they were before. Every reload lists them until they
    /// are mended.
    pub kept: Vec<Kept>,
    /// Problems that are new.
    pub problems: Vec<Problem>,
    /// Problems that are gone.
    pub solved: Vec<Problem>,
    /// The last of files that change all the time, so that the watcher searches only once a second. Only the
    /// first reload of such a time has it.
    pub storm: Option<PathBuf>,
}

/// A hook that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changed {
    /// Its full name.
    pub name: String,
    /// Its status before.
    pub was: EntryStatus,
    /// Its status now.
    pub is: EntryStatus,
}

impl Reload {
    /// Returns true if nothing changed and no problem is new or gone.
    pub fn is_empty(&self) -> bool {
        *self == Self { kept: self.kept.clone(), ..Self::default() }
    }

    fn between(before: &Snapshot, after: &Snapshot) -> Self {
        let old: HashMap<Key<'_>, &Entry> = before.entries.iter().map(|entry| (key(entry), entry)).collect();
        let mut reload = Self { kept: after.found.kept.clone(), ..Self::default() };
        let mut same = HashSet::new();
        for entry in after.entries.iter() {
            let key = key(entry);
            same.insert(key);
            match old.get(&key) {
                None => reload.added.push(entry.name.clone()),
                Some(was) if *was != entry => {
                    reload.changed.push(Changed {
                        name: entry.name.clone(),
                        was: was.status,
                        is: entry.status,
                    });
                }
                Some(_) => {}
            }
        }
        let gone = before.entries.iter().filter(|entry| !same.contains(&key(entry)));
        reload.removed = gone.map(|entry| entry.name.clone()).collect();
        reload.problems = only_in(&after.problems, &before.problems);
        reload.solved = only_in(&before.problems, &after.problems);
        reload
    }
}

/// Two hooks may have the same name, so the file is part of the key.
type Key<'a> = (&'a str, Option<&'a Path>);

fn key(entry: &Entry) -> Key<'_> {
    (&entry.name, entry.path.as_deref())
}

fn only_in(these: &[Problem], others: &[Problem]) -> Vec<Problem> {
    these.iter().filter(|problem| !others.contains(problem)).cloned().collect()
}

impl fmt::Display for Reload {
    /// Writes one escaped line for each change.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut lines: Vec<String> = Vec::new();
        let shown = |name: &str| text::escape(name, 300);
        lines.extend(self.added.iter().map(|name| format!("added {}", shown(name))));
        lines.extend(self.removed.iter().map(|name| format!("removed {}", shown(name))));
        for Changed { name, was, is } in &self.changed {
            let name = shown(name);
            lines.push(if was == is {
                format!("changed {name}")
            } else {
                format!("changed {name}: {}, was {}", is.as_str(), was.as_str())
            });
        }
        lines.extend(self.problems.iter().map(|problem| format!("problem: {problem}")));
        lines.extend(self.solved.iter().map(|problem| format!("solved: {problem}")));
        if let Some(path) = &self.storm {
            let path = text::shown_path(path);
            lines.push(format!("{path}: files here change all the time; hooks are looked for once a second"));
        }
        f.write_str(&lines.join("\n"))
    }
}

impl Manager {
    /// Searches again with the builder's options, and replaces the hooks. The next event of every session uses
    /// the new hooks; an event that is running keeps its own to the end. Hooks from code stay.
    ///
    /// A file that worked and is broken now stays in force as it was, and a problem reports it: a component that
    /// does not load, a `hookbox.toml` that is not TOML. A hook that was removed, disabled or is not trusted any
    /// more does not stay, nor a native hook, whose old bytes are gone. If the search fails, everything stays.
    ///
    /// It must run on a tokio runtime, and reads files on threads that may block. Two calls at a time run one
    /// after another. If its future is dropped, the hooks are not replaced.
    pub async fn reload(&self) -> Reload {
        let mut plan = self.plan.lock().await;
        let Some(Plan { builder, last }) = plan.as_mut() else { return Reload::default() };
        let (found, next) = builder.search(last).await;
        let before = self.snapshot();
        let Some(next) = next else {
            // Nobody knows which hooks still exist: the old ones are better than none.
            let problems = only_in(&found.problems, &before.problems);
            warn(&problems);
            return Reload { kept: before.found.kept.clone(), problems, ..Reload::default() };
        };
        *last = next;
        let reload = Reload::between(&before, &found);
        warn(&reload.problems);
        self.live.replace(found);
        drop(before);
        if let Some(runtime) = &builder.runtime {
            runtime.forget_unused();
        }
        reload
    }
}

fn warn(problems: &[Problem]) {
    for problem in problems {
        tracing::warn!(path = %problem.path.display(), "{}", problem.message);
    }
}
