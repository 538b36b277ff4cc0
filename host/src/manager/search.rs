//! The search of a [`Builder`] for hooks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::builder::{Builder, Home};
use crate::account;
use crate::builtin::{self, SELF_PROTECTION, Surroundings};
use crate::discovery::{self, Discovery, Entry, EntryStatus, GlobalSettings, LastGood, Problem, SwitchedOff};
use crate::files::private_dir;
use crate::hook::Hook;
use crate::live::Snapshot;
use crate::trust::TrustFile;

impl Builder {
    /// Searches for the hooks. `last` is the working state of the last search. The second value is the state for the
    /// next one, or `None` if the search failed.
    pub(super) async fn search(&mut self, last: &Arc<LastGood>) -> (Snapshot, Option<Arc<LastGood>>) {
        let home = self.discovery.home.as_deref();
        let cache = self.private_cache.path(private_dir::default_cache, home);
        let data = self.private_data.path(private_dir::default_data, home);
        let mut global = GlobalSettings::without_settings(&self.discovery);
        let mut found = if self.no_hooks {
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
        places.extend(options.directories.iter().map(|directory| options.cwd.join(directory)));
        places.extend(found.entries.iter().filter_map(|entry| entry.path.clone()));
        let declared = found.approvable.iter().filter(|it| it.trusted);
        let commands = declared.flat_map(|it| {
            let bases = found.repo.as_deref().into_iter().chain(it.path.ancestors().nth(2));
            it.runs.iter().flat_map(move |line| bases.clone().map(|base| (line.clone(), base.to_owned())))
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
        let cache = open(cache).unwrap_or_else(|error| {
            problems.push(Problem::from(error));
            None
        });
        self.discovery.data = open(data).unwrap_or_else(|error| {
            problems.push(Problem::no_data(error));
            None
        });
        self.discovery.cache = cache.clone();
        let runtime = self.engine.runtime(self.runtime.take(), cache.as_deref());
        if self.discovery.one_event {
            runtime.leak();
        }
        let mut found = discovery::discover(&self.discovery, last, &runtime).await;
        self.runtime = Some(runtime);
        if let Some(problem) = self.home_problem() {
            let is_on = self.discovery.unseen_blocks && found.global.switched_off.is_none();
            found.hooks.extend(discovery::guard_of_unseen(std::slice::from_ref(&problem)).filter(|_| is_on));
            found.problems.push(problem);
        }
        found.problems.extend(problems);
        found
    }

    /// Returns the reason why the user's hooks may be elsewhere than in this home directory.
    fn home_problem(&self) -> Option<Problem> {
        let process = std::env::home_dir();
        match (&self.discovery.home, self.home) {
            (None, _) => Some(Problem::no_home()),
            (Some(_), Home::Caller) => None,
            (Some(home), Home::Process) => account::other_home(home, &self.discovery.roots)
                .map(|other| Problem::other_home(home, other.as_deref())),
            (Some(home), Home::Both) => {
                let process = process.unwrap_or_default();
                (!account::is_same(home, &process)).then(|| Problem::not_at_home(home, &process))
            }
        }
    }
}
