//! Building a [`Manager`]: what to look for and where, and the look itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Manager, Plan};
use crate::account;
use crate::builtin::{self, Protection, SELF_PROTECTION, Surroundings};
use crate::chain::ChainOptions;
use crate::discovery::source::HookSource;
use crate::discovery::{self, Discovery, Entry, EntryStatus, GlobalSettings, LastGood, Problem, SwitchedOff};
use crate::event::{Event, EventName};
use crate::files::private_dir;
use crate::function::FunctionHook;
use crate::hook::{Hook, HookError, Kind, Limits};
use crate::live::{Live, Snapshot};
use crate::native;
use crate::outcome::Outcome;
use crate::session::Thresholds;
use crate::trust::{TrustFile, TrustPolicy};
#[cfg(feature = "component")]
use crate::wasm::{Allocation, Compiler};
use crate::wasm::{EngineOptions, Runtime};

/// Builds a [`Manager`].
#[must_use]
pub struct Builder {
    pub(super) directories: bool,
    no_hooks: bool,
    builtins: bool,
    self_protection: bool,
    protection: Protection,
    pub(super) discovery: discovery::Options,
    hooks: Vec<Arc<dyn Hook>>,
    chain: ChainOptions,
    #[cfg(feature = "otel")]
    telemetry: Option<crate::telemetry::Telemetry>,
    home: Home,
    private_cache: KeptAt,
    private_data: KeptAt,
    engine: EngineOptions,
    pub(super) runtime: Option<Runtime>,
}

/// Who says which directory is the home directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    /// The process, by `HOME`.
    Process,
    /// The caller.
    Caller,
    /// The caller, and `HOME` must name the same.
    Both,
}

/// Where something private is kept.
#[derive(Clone, Debug, Default)]
enum KeptAt {
    /// Where [`private`] says.
    #[default]
    Default,
    At(PathBuf),
    Nowhere,
}

impl KeptAt {
    fn path(&self, default: fn(Option<&Path>) -> Option<PathBuf>, home: Option<&Path>) -> Option<PathBuf> {
        match self {
            Self::Default => default(home),
            Self::At(directory) => Some(directory.clone()),
            Self::Nowhere => None,
        }
    }
}

impl Default for Builder {
    fn default() -> Self {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let depth = native::depth();
        Self {
            directories: true,
            no_hooks: false,
            builtins: true,
            self_protection: true,
            protection: Protection::default(),
            discovery: discovery::Options::new(std::env::current_dir().unwrap_or_default(), home.clone()),
            hooks: Vec::new(),
            chain: ChainOptions { home, depth, ..ChainOptions::default() },
            #[cfg(feature = "otel")]
            telemetry: None,
            home: Home::Process,
            private_cache: KeptAt::Default,
            private_data: KeptAt::Default,
            engine: EngineOptions::default(),
            runtime: None,
        }
    }
}

impl Builder {
    /// Whether to look for hooks in directories at all (default: yes).
    pub fn directories(mut self, look: bool) -> Self {
        self.directories = look;
        self
    }

    /// Whether no hook runs at all, built-in ones and hooks from code included: then nothing is looked for either
    /// (`--no-hooks`). With `false`, the default, the user's settings may still say so (`no_hooks`).
    pub fn no_hooks(mut self, none: bool) -> Self {
        self.no_hooks = none;
        self
    }

    /// The command of the agent that the hooks are for, such as `commit`. One that stands in the user's
    /// `skip_commands` (default: `commit` and `pr`) gets no hooks (default: no command).
    pub fn command(mut self, name: impl Into<String>) -> Self {
        self.discovery.command = Some(name.into());
        self
    }

    /// The thresholds of the context window where the user's settings say nothing (default: warn at 0.7, compact at
    /// 0.8).
    pub fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.discovery.thresholds = thresholds;
        self
    }

    /// Whether the hooks are looked into also where the settings say that none runs: for a program that shows and
    /// approves them. They do not run then, either (default: no).
    #[doc(hidden)]
    pub fn look_anyway(mut self, look: bool) -> Self {
        self.discovery.look_anyway = look;
        self
    }

    /// Whether there are built-in hooks ([`builtin::ALL`]), as far as the user's settings do not switch them off one
    /// by one (default: yes, also without directories).
    pub fn builtins(mut self, with: bool) -> Self {
        self.builtins = with;
        self
    }

    /// Whether `builtin:self-protection` guards hookbox's own files and those of [`Builder::protect`], unless the user's
    /// settings switch it off (default: as [`Builder::builtins`] says).
    pub fn self_protection(mut self, guard: bool) -> Self {
        self.self_protection = guard;
        self
    }

    /// Further files that `builtin:self-protection` guards: those that decide about the hooks of other programs (default:
    /// none).
    pub fn protect(mut self, protection: Protection) -> Self {
        self.protection = protection;
        self
    }

    /// The directory that the agent works in; the repository is looked for from here (default: the process's).
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.discovery.cwd = cwd.into();
        self
    }

    /// The user's home directory, where the user's own hooks are (default: the process's).
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        self.home = Home::Caller;
        self.chain.home = Some(home.clone());
        self.discovery.home = Some(home);
        self
    }

    /// The user's home directory, where `HOME` has to name the same: a difference is a problem that hides hooks. For a command
    /// line that was written for this user (default: no such check).
    #[doc(hidden)]
    pub fn home_of_process(self, home: impl Into<PathBuf>) -> Self {
        Self { home: Home::Both, ..self.home(home) }
    }

    /// The directory names that hold hooks (default: `.hookbox`, `.kodelet`).
    pub fn roots<R: Into<String>>(mut self, roots: impl IntoIterator<Item = R>) -> Self {
        self.discovery.roots = roots.into_iter().map(Into::into).collect();
        self
    }

    /// One more directory of hooks, trusted like the user's own.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.discovery.directories.push(directory.into());
        self
    }

    /// Looks for hooks in one more source, beside the roots: those that are configured for another program. A
    /// repository's run only as far as the user trusts them; the user's own run. May be called several times.
    pub fn source(mut self, source: impl HookSource + 'static) -> Self {
        self.discovery.sources.push(Arc::new(source));
        self
    }

    /// Which hooks of a repository run (default: those that the user has trusted).
    pub fn trust(mut self, policy: TrustPolicy) -> Self {
        self.discovery.trust = policy;
        self
    }

    /// Limits that go before every hook's own settings and defaults.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.discovery.limits = limits;
        self
    }

    /// How long a whole chain may take (default: 60 s).
    pub fn chain_deadline(mut self, deadline: std::time::Duration) -> Self {
        self.chain.deadline = deadline;
        self.chain.repo_deadline = deadline;
        self
    }

    /// How long all hooks of an event may take together, as [`ChainOptions::within`] shares it out, and the look for them
    /// before that: a sixth for components that the user has not trusted, two thirds for another. For an agent that waits
    /// only so long (default: see [`ChainOptions`] and [`discovery::Options`]).
    pub fn within(mut self, total: std::time::Duration) -> Self {
        self.chain = self.chain.within(total);
        self.discovery.untrusted_look = self.discovery.untrusted_look.min(total / 6);
        self.discovery.own_look = self.discovery.own_look.min(total * 2 / 3);
        self
    }

    /// Run hooks also from inside a hook (default: no).
    pub fn allow_nested(mut self, allow: bool) -> Self {
        self.chain.allow_nested = allow;
        self
    }

    /// Where sessions report each event as spans and metrics (default: nowhere).
    #[cfg(feature = "otel")]
    pub fn telemetry(mut self, telemetry: crate::telemetry::Telemetry) -> Self {
        self.telemetry = Some(telemetry);
        self
    }

    /// Where to keep compiled code and cached answers: a directory that belongs to the user alone, or is yet to be
    /// made. `None` keeps nothing (default: `$XDG_CACHE_HOME/hookbox`, else `~/.cache/hookbox`).
    pub fn cache(mut self, directory: Option<PathBuf>) -> Self {
        self.private_cache = directory.map_or(KeptAt::Nowhere, KeptAt::At);
        self
    }

    /// Where trust, grants and the state of hooks are kept: a directory that belongs to the user alone, or is yet to
    /// be made. With `None` nothing of a repository is trusted and nothing is granted (default:
    /// `$XDG_DATA_HOME/hookbox`, else `~/.local/share/hookbox`).
    pub fn data(mut self, directory: Option<PathBuf>) -> Self {
        self.private_data = directory.map_or(KeptAt::Nowhere, KeptAt::At);
        self
    }

    /// What sends the requests of components (default: one with the system's certificates and resolver).
    #[cfg(feature = "http")]
    pub fn network(mut self, network: crate::network::Network) -> Self {
        self.engine.network = Some(network);
        self
    }

    /// Whether this process answers one event and ends, with nothing else running beside (default: no). Then the user's
    /// files are read in the caller's thread, a component that did not change is neither read nor described again, nor
    /// compiled where that failed, and what ran components is left to the end of the process instead of taken apart.
    #[doc(hidden)]
    pub fn one_event(mut self, one: bool) -> Self {
        self.discovery.one_event = one;
        self
    }

    /// Whether a component is read again also where it did not change, with [`Builder::one_event`]: at the start of a
    /// session (default: no, unless it was last read a day ago). One that failed is tried again where more time may help.
    #[doc(hidden)]
    pub fn reread(mut self, reread: bool) -> Self {
        self.discovery.reread = reread;
        self
    }

    /// Whether what hides hooks of the user's, such as a directory or settings that cannot be read, counts as a guard that
    /// fails in every event: for who answers for an agent (default: no, it is a problem).
    #[doc(hidden)]
    pub fn unseen_blocks(mut self, blocks: bool) -> Self {
        self.discovery.unseen_blocks = blocks;
        self
    }

    /// A hook of the agent's own.
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// A closure as a hook for one event.
    pub fn on<F, A>(self, name: impl Into<String>, event: EventName, run: F) -> Self
    where
        F: Fn(Event) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Outcome, HookError>> + Send + 'static,
    {
        self.hook(FunctionHook::new(name, event, run))
    }

    /// Where the memory of components comes from (default: a pool).
    #[cfg(feature = "component")]
    pub fn allocation(mut self, allocation: Allocation) -> Self {
        self.engine.allocation = allocation;
        self
    }

    /// The program that compiles components, in a process of its own for each, bounded in memory and ended in time (default:
    /// none; they are compiled in this process, and neither is so).
    #[cfg(feature = "component")]
    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.engine.compiler = Some(compiler);
        self
    }

    /// An engine that other managers use as well (default: one of its own).
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Looks for the hooks. What cannot be used is a problem of the manager's and no error.
    pub async fn build(mut self) -> Manager {
        // The host's own judge last: code, then what is built in.
        self.hooks.sort_by_key(|hook| hook.descriptor().kind == Kind::Builtin);
        let (chain, cwd) = (self.chain.clone(), self.discovery.cwd.clone());
        let (snapshot, last) = self.look(&Arc::default()).await;
        for problem in snapshot.problems.iter() {
            tracing::warn!(path = %problem.path.display(), "{}", problem.message);
        }
        let live = Live::new(snapshot, chain, cwd);
        #[cfg(feature = "otel")]
        let live = live.reporting_to(self.telemetry.clone());
        let plan = Plan { builder: self, last: last.unwrap_or_default() };
        Manager { live: Arc::new(live), plan: Arc::new(Some(plan).into()) }
    }

    /// Looks for the hooks, knowing what worked the last time. Without the second value they could not be looked for.
    pub(super) async fn look(&mut self, last: &Arc<LastGood>) -> (Snapshot, Option<Arc<LastGood>>) {
        let private = self.private_directories();
        let mut found = self.found(last).await;
        let mut hooks = found.hooks.clone();
        if found.global.switched_off.is_none() {
            hooks.extend(self.hooks.iter().cloned());
            hooks.extend(self.built_in(&mut found, private));
        }
        let last = found.last_good.take().map(Arc::new);
        let trust_file = self.discovery.data.clone().filter(|_| self.directories).map(TrustFile::new);
        (Snapshot::new(hooks, found, trust_file), last)
    }

    /// Where hookbox keeps what it was told and what it has worked out.
    fn private_directories(&self) -> Vec<PathBuf> {
        let home = self.discovery.home.as_deref();
        let kept = [
            self.private_cache.path(private_dir::default_cache, home),
            self.private_data.path(private_dir::default_data, home),
        ];
        kept.into_iter().flatten().collect()
    }

    /// Lists the built-in hooks; gives those that the user has not switched off.
    fn built_in(&self, found: &mut Discovery, mut places: Vec<PathBuf>) -> Vec<Arc<dyn Hook>> {
        let options = &self.discovery;
        places.extend(options.directories.iter().map(|directory| options.cwd.join(directory)));
        places.extend(found.entries.iter().filter_map(|entry| entry.path.clone()));
        let declared = found.approvable.iter().filter(|it| it.trusted);
        let commands = declared.flat_map(|it| {
            let bases = found.repo.as_deref().into_iter().chain(it.path.ancestors().nth(2));
            it.runs.iter().flat_map(move |line| bases.clone().map(|base| (line.clone(), base.to_owned())))
        });
        let commands = commands.collect();
        let around = Surroundings {
            commands,
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
            let user_settings = found.builtins.remove(builtin.name).unwrap_or_default();
            let hook = (builtin.make)(&around, &user_settings);
            let runs = user_settings.enabled != Some(false);
            let status = if runs { EntryStatus::Active } else { EntryStatus::Disabled };
            rows.push(Entry::new(hook.descriptor(), status));
            hooks.extend(runs.then_some(hook));
        }
        rows.sort_by_key(|row| row.priority);
        found.entries.extend(rows);
        hooks
    }

    /// What there is to run, or why nothing runs.
    async fn found(&mut self, last: &Arc<LastGood>) -> Discovery {
        let mut global = GlobalSettings::without_settings(&self.discovery);
        if self.no_hooks {
            global.switched_off = Some(SwitchedOff::Asked);
        } else if self.directories {
            return self.discover(last).await;
        }
        Discovery { global, ..Discovery::new() }
    }

    /// Why hooks of the user's may stand elsewhere than in the home directory.
    fn doubt(&self) -> Option<Problem> {
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

    async fn discover(&mut self, last: &Arc<LastGood>) -> Discovery {
        let home = self.discovery.home.clone();
        let repo = discovery::outermost_repository(&self.discovery);
        let open = |at: &KeptAt, default: fn(Option<&Path>) -> Option<PathBuf>| {
            let wanted = at.path(default, home.as_deref());
            wanted.map(|directory| private_dir::open(&directory, repo.as_deref())).transpose()
        };
        let mut problems = Vec::new();
        let cache = open(&self.private_cache, private_dir::default_cache).unwrap_or_else(|error| {
            problems.push(Problem::from(error));
            None
        });
        self.discovery.data = open(&self.private_data, private_dir::default_data).unwrap_or_else(|error| {
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
        if let Some(problem) = self.doubt() {
            let is_on = self.discovery.unseen_blocks && found.global.switched_off.is_none();
            found.hooks.extend(discovery::guard_of_unseen(std::slice::from_ref(&problem)).filter(|_| is_on));
            found.problems.push(problem);
        }
        found.problems.extend(problems);
        found
    }
}
