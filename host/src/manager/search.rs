//! The search of a [`Builder`] for hooks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::builder::{Builder, Home};
use crate::builtin::{self, SELF_PROTECTION, Surroundings};
use crate::discovery::{self, Discovery, Entry, EntryStatus, GlobalSettings, LastGood, Problem, SwitchedOff};
use crate::hook::Hook;
use crate::live::Snapshot;
use crate::trust::{AllowanceFile, TrustFile};
use hookbox_system::files::private_dir::{self, PrivateError};
use hookbox_system::{account, text};

impl Builder {
    /// Searches for the hooks. `last` is the working state of the last search. The second value is the state for the
    /// next one, or `None` if the search failed.
    pub(super) async fn search(&mut self, last: &Arc<LastGood>) -> (Snapshot, Option<Arc<LastGood>>) {
        let home = self.discovery.home.as_deref();
        let cache = self.private_cache.path(private_dir::default_cache, home);
        let data = self.private_data.path(private_dir::default_data, home);
        let mut global = GlobalSettings::without_settings(&self.discovery);
        self.discovery.no_hooks = self.no_hooks;
        // The administrator's hooks run at any rate.
        let is_managed = self.discovery.managed.as_ref().is_some_and(discovery::ManagedDir::exists);
        let mut found = if self.no_hooks && !(is_managed && self.directories) {
            global.switched_off = Some(SwitchedOff::Asked);
            Discovery { global, ..Discovery::new() }
        } else if self.directories {
            self.discover(cache.as_deref(), data.as_deref(), last).await
        } else {
            Discovery { global, ..Discovery::new() }
        };
        let mut hooks = found.hooks.clone();
        if found.global.switched_off.is_none() {
            hooks.extend(self.hooks.iter().cloned());
            hooks.extend(self.built_in(&mut found, cache.into_iter().chain(data).collect()));
        }
        let last = found.last_good.take().map(Arc::new);
        let trust_file = self.discovery.data.clone().filter(|_| self.directories).map(TrustFile::new);
        (Snapshot::new(hooks, found, trust_file), last)
    }

    /// Lists the built-in hooks, and returns those that the user has not switched off. `places` are the private
    /// directories.
    fn built_in(&self, found: &mut Discovery, mut places: Vec<PathBuf>) -> Vec<Arc<dyn Hook>> {
        let options = &self.discovery;
        places.extend(options.managed.iter().map(|it| it.path.clone()));
        places.extend(options.directories.iter().map(|directory| options.cwd.join(directory)));
        places.extend(found.entries.iter().filter_map(|entry| entry.path.clone()));
        let commands = found.entries.iter().filter(|it| it.trusted).flat_map(|it| {
            let above = it.path.as_deref().and_then(|path| path.ancestors().nth(2));
            let bases = found.repo.as_deref().into_iter().chain(above);
            it.found
                .runs
                .iter()
                .flat_map(move |line| bases.clone().map(|base| (line.clone(), base.to_owned())))
        });
        let surroundings = Surroundings {
            commands: commands.collect(),
            roots: options.roots.clone(),
            home: options.home.clone(),
            repository: found.repo.clone(),
            places,
            protection: self.protection.clone(),
            thresholds: found.global.thresholds,
        };
        let wanted = builtin::ALL
            .iter()
            .filter(|it| self.builtins && (self.self_protection || it.name != SELF_PROTECTION));
        let mut hooks: Vec<Arc<dyn Hook>> = Vec::new();
        let mut rows: Vec<Entry> = Vec::new();
        for builtin in wanted {
            let settings = found.builtins.remove(builtin.name).unwrap_or_default();
            let hook = (builtin.make)(&surroundings, &settings);
            let runs = settings.enabled != Some(false);
            let status = if runs { EntryStatus::Active } else { EntryStatus::Disabled };
            rows.push(Entry::new(hook.descriptor(), status));
            hooks.extend(runs.then_some(hook));
        }
        rows.sort_by_key(|row| row.priority);
        found.entries.extend(rows);
        hooks
    }

    /// Opens the private directories, and searches all others.
    async fn discover(
        &mut self,
        cache: Option<&Path>,
        data: Option<&Path>,
        last: &Arc<LastGood>,
    ) -> Discovery {
        let repo = discovery::outermost_repository(&self.discovery);
        let open = |directory: Option<&Path>| {
            directory.map(|directory| private_dir::open(directory, repo.as_deref())).transpose()
        };
        let mut problems = Vec::new();
        let second = private_dir::second_cache(repo.as_deref()).filter(|_| cache.is_some());
        let cache = open(cache).unwrap_or_else(|error| {
            let consequence = match &second {
                Some(second) => {
                    format!("compiled code is kept in {}", text::shown_path(second))
                }
                None => "compiled code is not kept".to_owned(),
            };
            problems.push(unusable(error, &consequence));
            second.clone()
        });
        self.discovery.data = open(data).unwrap_or_else(|error| {
            let problem = unusable(error, "nothing is trusted or granted");
            problems.push(Problem { is_without_trust: true, ..problem });
            None
        });
        problems.extend(self.discovery.data.as_deref().and_then(|data| self.broken_allowances(data)));
        self.discovery.cache = cache.clone();
        let runtime = self.engine.runtime(self.runtime.take(), cache.as_deref(), second.as_deref());
        if self.discovery.one_event {
            runtime.leak();
        }
        let mut found = discovery::discover(&self.discovery, last, &runtime).await;
        self.runtime = Some(runtime);
        if let Some(problem) = self.home_problem() {
            let problem = Problem { hides: true, ..problem };
            let is_on = self.discovery.unseen_blocks && found.global.switched_off.is_none();
            found.hooks.extend(discovery::guard_of_unseen(std::slice::from_ref(&problem)).filter(|_| is_on));
            found.problems.push(problem);
        }
        found.problems.extend(problems);
        found
    }

    /// Returns the problem of a file of allowances that cannot be read. A process for one event tells of it at a block.
    fn broken_allowances(&self, data: &Path) -> Option<Problem> {
        let file = AllowanceFile::new(data);
        let error = if self.discovery.one_event { None } else { file.read().err() }?;
        let message = format!("{}; nothing is allowed by it", error.kind);
        Some(Problem::new(&error.path, message).hint(error.advice()))
    }

    /// Returns the reason why the user's hooks may be elsewhere than in this home directory.
    fn home_problem(&self) -> Option<Problem> {
        let shown = |path: &Path| text::shown_path(path);
        let Some(home) = &self.discovery.home else {
            let message = "HOME is not an absolute path, so hookbox cannot find your own hooks";
            return Some(Problem::new("the home directory", message).hint("set HOME to your home directory"));
        };
        match self.home {
            Home::Caller => None,
            Home::Process => account::other_home(home, &self.discovery.roots).map(|other| match other {
                Some(other) => {
                    let message = format!(
                        "is your home directory by the system's accounts, but HOME is {}: hookbox does not run the hooks \
                         of the first",
                        shown(home)
                    );
                    let hint =
                        format!("set HOME to {}, or name the one that you mean: --home DIR", shown(&other));
                    Problem::new(other, message).hint(hint)
                }
                None => {
                    let message = "is not the home directory of an account, so hookbox cannot find your own hooks";
                    let hint = "set HOME to your home directory, or name the one that you mean: --home DIR";
                    Problem::new(home, message).hint(hint)
                }
            }),
            Home::Both => {
                let process = std::env::home_dir().unwrap_or_default();
                let message = format!(
                    "is the home directory that this command was installed for, but HOME is {:?}",
                    shown(&process)
                );
                let hint = format!(
                    "set HOME to {}, or run hookbox install again where HOME is what it is for the agent",
                    shown(home)
                );
                (!account::is_same(home, &process)).then(|| Problem::new(home, message).hint(hint))
            }
        }
    }
}

/// Returns the problem of a private directory that cannot be used.
fn unusable(error: PrivateError, consequence: &str) -> Problem {
    Problem::new(error.path, format!("cannot be used: {}; {consequence}", error.kind))
        .hint("make it a directory of your own with mode 0700, outside the repository")
}
