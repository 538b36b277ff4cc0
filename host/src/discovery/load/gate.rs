//! The gate: decides which candidates are trusted, by the policy and by the user's records of their digests.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::judged::Judged;
use crate::capability::{Capability, Rights};
use crate::discovery::find::{Candidate, Declared, GlobalSettings, HooksDir, Options, Scan, State, Table};
use crate::discovery::{Namesake, Problem};
use crate::facts::main_tree;
use crate::hook::{Digest, Kind, Origin, Tier};
use crate::rules::Counters;
use crate::trust::native_digest::{DigestInput, SharedTrees};
use crate::trust::tree_digest::{Allowance, Covered};
use crate::trust::{
    self, Bases, Inventory, ProtectedDirs, Record, Records, Scope, TrustFile, TrustLevel, TrustPolicy,
};
use crate::wasm::{Access, Backends, Component, MAX_COMPONENT, Places, Runtime};
use hookbox_system::text;

/// The user's records, and the directories to which they apply.
pub(super) struct Gate {
    granted: Arc<Granted>,
    /// The scope of the repository's hooks; `None` if its real path is not known.
    repo: Option<Scope>,
    /// The scope of the main working tree, if the repository is a linked one: the same contents are trusted here.
    main: Option<Scope>,
    /// The scope of the administrator's hooks: no repository is there.
    managed: Option<Scope>,
    /// The private data directory.
    data: Option<PathBuf>,
    pub(super) protected: Arc<ProtectedDirs>,
    bases: Bases,
}

/// The user's trust and grants, and the services behind the granted rights.
pub(super) struct Granted {
    records: Records,
    /// The guards that hookbox wrote.
    inventory: Inventory,
    backends: Backends,
    /// The program `git` of the administrator's hooks, if it is not the system's.
    managed_git: Option<PathBuf>,
}

impl Granted {
    /// Reads the trust file. If it cannot be read, nothing is trusted or granted.
    pub(super) fn read(
        options: &Options,
        runtime: &Runtime,
        global: &GlobalSettings,
        problems: &mut Vec<Problem>,
    ) -> Arc<Self> {
        let records = match options.data.as_deref().map(|data| TrustFile::new(data).read()) {
            None => Records::default(),
            Some(Ok(records)) => records,
            Some(Err(error)) => {
                let path = text::shown_path(&error.path);
                let message = format!("{}: nothing is trusted or granted", error.kind);
                let hint = format!("move it aside: mv {path} {path}.old");
                let problem = Problem::new(&error.path, message).off().hint(hint);
                problems.push(Problem { is_without_trust: true, ..problem });
                Records::default()
            }
        };
        let inventory = options.data.as_deref().map_or_else(|| Ok(Inventory::default()), Inventory::read);
        let inventory = inventory.unwrap_or_else(|error| {
            let path = options.data.clone().unwrap_or_default().join(Inventory::FILE);
            let message = format!("{error}: hookbox cannot tell which guards are missing");
            let shown = text::shown_path(&path);
            let hint = format!("move it aside, and add the guards again: mv {shown} {shown}.old");
            problems.push(Problem { hides: true, ..Problem::new(path, message).hint(hint) });
            Inventory::default()
        });
        Arc::new(Self {
            records,
            inventory,
            backends: Backends::new(
                options.data.as_deref(),
                runtime,
                global.git.as_deref(),
                &options.recording,
            ),
            managed_git: global.managed_git.clone(),
        })
    }
}

/// The variables of the administrator's programs, if the settings name no others. None of them leads to a program or a
/// library of the user's, as `PATH` and `PYTHONPATH` do.
const ENVIRONMENT: [&str; 6] = ["HOME", "LANG", "LC_ALL", "LOGNAME", "TZ", "USER"];

impl Gate {
    /// Returns the guards that hookbox wrote, each by its path.
    pub(super) fn written(&self) -> impl Iterator<Item = (&Path, &Digest)> {
        self.granted.inventory.written.iter().map(|(path, it)| (Path::new(path), &it.digest))
    }

    /// Returns the gate for the hooks of this repository and of the user. `around` are all repositories: no hook
    /// may write to their roots.
    pub(super) fn new(
        options: &Options,
        granted: Arc<Granted>,
        repo: Option<&Path>,
        around: &[PathBuf],
    ) -> Self {
        let roots =
            |base: &Path| -> Vec<PathBuf> { options.roots.iter().map(|root| base.join(root)).collect() };
        let own = [&options.data, &options.cache].into_iter().flatten().cloned();
        let directories = options.directories.iter().map(|dir| options.cwd.join(dir));
        let managed = options.managed.as_ref().map(|it| it.path.clone());
        let own = own.chain(managed.clone());
        let whole = own.chain(directories).chain(options.home.iter().flat_map(|home| roots(home))).collect();
        let bases = Bases { repo: repo.map(Path::to_owned), home: options.home.clone() };
        Self {
            granted,
            repo: repo.and_then(|repo| repo.canonicalize().ok()).map(Scope::Repository),
            main: repo.and_then(main_tree).map(Scope::Repository),
            managed: managed.map(Scope::Repository),
            data: options.data.clone(),
            protected: Arc::new(ProtectedDirs::new(
                bases.clone(),
                whole,
                around.iter().flat_map(|it| roots(it)).collect(),
            )),
            bases,
        }
    }

    /// Returns the network of all hooks.
    #[cfg(feature = "http")]
    pub(super) fn network(&self) -> crate::network::Network {
        self.granted.backends.network.clone()
    }

    /// Returns the counters of a rules file: in the store, if it is trusted.
    pub(super) fn counters(&self, judged: &Judged) -> Counters {
        let key = judged.key.as_ref().filter(|_| judged.standing.is_trusted());
        let identity = key.map(|(scope, _)| identity(scope, &judged.candidate));
        self.granted.backends.counters(identity.as_deref())
    }

    /// Returns the home directory.
    pub(super) fn home(&self) -> Option<&Path> {
        self.bases.home.as_deref()
    }

    /// Returns the repository whose hooks it judges.
    pub(super) fn repository(&self) -> Option<&Path> {
        self.bases.repo.as_deref()
    }

    /// Judges all candidates of a scan, and takes them. `names` counts the candidates of each name in all scans.
    /// Nothing of them is run.
    pub(super) fn judge(
        &self,
        scan: &mut Scan,
        names: &HashMap<String, usize>,
        options: &Options,
    ) -> Vec<Judged> {
        let mut unapproved = Allowance::of_unapproved();
        let trees = SharedTrees::default();
        let candidates = std::mem::take(&mut scan.candidates);
        let mut all: Vec<Judged> = candidates
            .into_iter()
            .map(|candidate| {
                let is_unique = !options.whole_paths && names.get(&candidate.name) == Some(&1);
                let mut table = scan.table_of(&candidate).cloned().unwrap_or_default();
                let is_program = matches!(candidate.kind, Kind::Native | Kind::Command);
                if is_program && candidate.dir.tier.origin() == Origin::Managed {
                    table.environment.get_or_insert_with(|| ENVIRONMENT.map(str::to_owned).into());
                }
                self.judge_one(candidate, table, is_unique, options, &mut unapproved, &trees)
            })
            .collect();
        // From the last to the first: a hook replaces only later ones.
        let mut later: HashMap<String, Vec<(Origin, bool, Namesake)>> = HashMap::new();
        for judged in all.iter_mut().rev() {
            let (origin, tier) = (judged.origin(), judged.candidate.dir.tier);
            let of_name = later.entry(judged.candidate.name.clone()).or_default();
            if judged.candidate.dir.needs_trust && options.trust == TrustPolicy::Recorded {
                // An untrusted hook of the same origin is replaced without a question.
                let is_asked = |it: &&(Origin, bool, Namesake)| it.0 != origin || it.1;
                judged.namesakes = of_name.iter().filter(is_asked).map(|it| it.2.clone()).collect();
            }
            if let (Some(key), false) = (judged.key.clone(), judged.is_off() || origin == Origin::Managed) {
                let on_failure =
                    judged.table.on_failure.or_else(|| judged.declared().and_then(|it| it.on_failure));
                let reference = judged.reference.clone();
                let namesake = Namesake { key, reference, tier, on_failure };
                of_name.push((origin, judged.standing.is_trusted(), namesake));
            }
        }
        all
    }

    /// Returns the records of trusted hooks in the repository that were not found, if their source was
    /// searched.
    pub(super) fn gone<'a>(
        &'a self,
        judged: &[Arc<Judged>],
        is_searched: impl Fn(&Record) -> bool + 'a,
    ) -> impl Iterator<Item = &'a Record> {
        let found: BTreeSet<(Scope, PathBuf)> = judged.iter().filter_map(|it| it.key.clone()).collect();
        self.granted.records.iter().filter(move |record| {
            record.trusted
                && self.repo.as_ref() == Some(&record.scope)
                && is_searched(record)
                && !found.contains(&(record.scope.clone(), record.path.clone()))
        })
    }

    fn judge_one(
        &self,
        candidate: Candidate,
        table: Table,
        is_unique: bool,
        options: &Options,
        unapproved: &mut Allowance,
        trees: &SharedTrees,
    ) -> Judged {
        let (dir, kind) = (Arc::clone(&candidate.dir), candidate.kind);
        let standing = if dir.needs_trust {
            TrustLevel::unless_recorded(options.trust, kind)
        } else {
            TrustLevel::of(options.trust, dir.tier, kind)
        };
        let key = self.key(&candidate);
        let records = &self.granted.records;
        let recorded = key.as_ref().filter(|_| dir.tier.origin() != Origin::Managed);
        let own = recorded.and_then(|(scope, path)| records.get(scope, path));
        let of_main = || {
            let (scope, path) = key.as_ref().filter(|_| own.is_none())?;
            records.get(self.main.as_ref().filter(|_| self.repo.as_ref() == Some(scope))?, path)
        };
        let of_main = of_main();
        let record = own.or(of_main).cloned();
        let mut judged = Judged {
            reference: candidate.reference(),
            candidate,
            table,
            standing,
            key,
            record,
            digest_input: None,
            tree_digest: None,
            bytes: None,
            is_current: false,
            by_record: false,
            is_unique,
            flags: options.flags(),
            namesakes: Vec::new(),
        };
        if !matches!(judged.candidate.state, State::Usable) || !dir.needs_trust {
            return judged;
        }
        let Some(digest_input) = self.digest_input(&judged, options) else { return judged };
        let trusted = judged.record.as_ref().filter(|record| record.trusted);
        let digest = match (kind, dir.tier.origin(), trusted) {
            (kind, _, None) if kind.is_one_file() => None,
            (kind, ..) if kind.is_one_file() => {
                judged.bytes = dir.access.digest(&judged.candidate.path, MAX_COMPONENT).ok();
                judged.bytes.as_ref().map(|bytes| Ok(digest_input.of_component(bytes)))
            }
            (_, Origin::Repo, None) => Some(digest_input.digest_in(&dir.access, unapproved, trees)),
            // A hook that the user approved once has an allowance of its own, so that no hook beside it takes
            // it away.
            (_, Origin::Repo, Some(_)) => {
                Some(digest_input.digest_in(&dir.access, &mut Allowance::of_one(), &SharedTrees::default()))
            }
            _ => Some(digest_input.digest()),
        };
        judged.is_current = trusted.is_some_and(|record| {
            record.name == judged.candidate.name
                && digest.as_ref().and_then(|it| it.as_ref().ok()) == Some(&record.digest)
        });
        // Other contents in another working tree are no change.
        if of_main.is_some() && !judged.is_current {
            judged.record = None;
        }
        if !standing.is_trusted() && judged.is_current {
            judged.standing = TrustLevel::Trusted;
            judged.by_record = true;
        }
        (judged.digest_input, judged.tree_digest) = (Some(digest_input), digest);
        judged
    }

    /// Returns the key of a candidate in the trust file.
    fn key(&self, candidate: &Candidate) -> Option<(Scope, PathBuf)> {
        let (scope, base) = match candidate.dir.tier.origin() {
            Origin::Managed => (self.managed.clone()?, None),
            Origin::Repo => (self.repo.clone()?, self.bases.repo.as_deref()),
            _ => (Scope::Global, self.bases.home.as_deref()),
        };
        let reference = candidate.reference();
        // A component of the user's own is recorded by its file, whichever entry names it; any other hook by
        // its entry.
        let is_its_bytes = candidate.kind.is_one_file() && !candidate.dir.needs_trust;
        let path = if is_its_bytes { &candidate.path } else { &reference };
        let relative = base.and_then(|base| path.strip_prefix(base).ok()).unwrap_or(path);
        Some((scope, relative.to_owned()))
    }

    fn digest_input(&self, judged: &Judged, options: &Options) -> Option<DigestInput> {
        let HooksDir { tier, path, base, installed, .. } = &*judged.candidate.dir;
        let is_plugin = matches!(tier, Tier::RepoPlugin | Tier::GlobalPlugin);
        let is_repo = tier.origin() == Origin::Repo;
        Some(DigestInput {
            // The digest of a plugin in the home directory covers the whole plugin.
            repo: if is_repo { self.bases.repo.clone()? } else { base.clone() },
            dir: path.parent().filter(|_| is_plugin).unwrap_or(path).to_owned(),
            file: judged.candidate.path.clone(),
            base: base.clone(),
            cwd: options.cwd.clone(),
            declared: judged.declared().map(Declared::fields).unwrap_or_default(),
            lines: judged.declared().map(Declared::words).unwrap_or_default(),
            // The user's own settings of a plugin's hook are not a part of the plugin.
            settings: if is_repo { judged.table.texts.clone() } else { BTreeMap::new() },
            covered: Covered { plugin: base.clone(), installed: Arc::clone(installed) },
        })
    }

    /// Returns the access of a component: the rights that it asks for and was granted with its present
    /// digest. An untrusted one gets none. The second value lists the rights that were left out, because they
    /// could write hookbox's own files.
    pub(super) fn access(&self, judged: &Judged, component: &Component) -> (Access, Vec<Capability>) {
        let candidate = &judged.candidate;
        let manifest = component.manifest();
        let mut access = Access::nothing(manifest, &candidate.name);
        access.name = trust::handle(&candidate.name, Some(&judged.reference), judged.is_unique);
        access.flags.clone_from(&judged.flags);
        access.clock = self.granted.backends.clock();
        access.taping = self.granted.backends.taping();
        // No grant makes a hook of a repository spare its user a question.
        let is_repo = judged.origin() == Origin::Repo;
        let asked = |rights: Rights| if is_repo { rights.without(&Capability::Allow) } else { rights };
        access.rights = asked(access.rights);
        let is_managed = judged.origin() == Origin::Managed;
        let granted = judged.record.as_ref().filter(|_| judged.holds_for(component.digest()));
        let granted = granted.filter(|_| judged.standing.is_trusted()).map(|it| (&it.scope, &it.grants));
        let of_file = || self.managed.as_ref().zip(judged.table.grants.as_ref());
        let granted = if is_managed { of_file() } else { granted };
        let Some((scope, grants)) = granted else {
            return (access, Vec::new());
        };
        let (rights, refused) = self.protected.rights(&manifest.capabilities, grants);
        let identity = identity(scope, candidate);
        access.places = Places {
            repo: self.bases.repo.clone(),
            home: self.bases.home.clone(),
            // A directory for each hook, never the data directory itself.
            data: self.data.as_ref().map(|data| data.join("hooks").join(&identity)),
        };
        access.variables = rights
            .effective()
            .iter()
            .filter_map(|right| match right {
                // A value that is not UTF-8 cannot be passed on.
                Capability::Env(name) => Some((name.to_string(), std::env::var(name.as_str()).ok()?)),
                _ => None,
            })
            .collect();
        access.rights = asked(rights);
        self.granted.backends.connect(&mut access, &identity);
        if is_managed {
            // The user's may tell a guard anything.
            access.git.clone_from(&self.granted.managed_git);
        }
        (access, refused)
    }
}

/// Returns the identity of a hook's state in this scope.
fn identity(scope: &Scope, candidate: &Candidate) -> String {
    scope.identity(candidate.dir.plugin.as_deref(), &candidate.identity())
}
