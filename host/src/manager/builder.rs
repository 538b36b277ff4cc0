//! The options of a [`Manager`].

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::{Manager, Plan};
use crate::builtin::Protection;
use crate::chain::ChainOptions;
use crate::discovery::HookSource;
use crate::event::{Event, EventName};
use crate::function::FunctionHook;
use crate::hook::{GRACE, Hook, HookError, Kind, Limits};
use crate::journal::Journal;
use crate::live::Live;
use crate::outcome::Outcome;
use crate::session::Thresholds;
use crate::trust::TrustPolicy;
#[cfg(feature = "component")]
use crate::wasm::{Allocation, Compiler};
use crate::wasm::{EngineOptions, Runtime};
use crate::{discovery, native};
use hookbox_system::text;

/// Builds a [`Manager`].
///
/// A method sets one option and does nothing else: [`Builder::build`] searches for hooks. A later call of a method
/// replaces an earlier one, unless its documentation says that it adds something.
#[must_use]
pub struct Builder {
    pub(super) directories: bool,
    pub(super) no_hooks: bool,
    pub(super) builtins: bool,
    pub(super) self_protection: bool,
    pub(super) protection: Protection,
    pub(super) discovery: discovery::Options,
    pub(super) hooks: Vec<Arc<dyn Hook>>,
    chain: ChainOptions,
    journal: Option<Arc<dyn Journal>>,
    #[cfg(feature = "otel")]
    telemetry: Option<crate::telemetry::Telemetry>,
    pub(super) home: Home,
    pub(super) private_cache: PrivateDir,
    pub(super) private_data: PrivateDir,
    pub(super) engine: EngineOptions,
    pub(super) runtime: Option<Runtime>,
}

/// The choice of a private directory.
#[derive(Clone, Debug, Default)]
pub(super) enum PrivateDir {
    #[default]
    Default,
    At(PathBuf),
    None,
}

impl PrivateDir {
    pub(super) fn of(directory: Option<PathBuf>) -> Self {
        directory.map_or(Self::None, Self::At)
    }

    pub(super) fn path(
        &self,
        default: fn(Option<&Path>) -> Option<PathBuf>,
        home: Option<&Path>,
    ) -> Option<PathBuf> {
        match self {
            Self::Default => default(home),
            Self::At(directory) => Some(directory.clone()),
            Self::None => None,
        }
    }
}

/// The origin of the home directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// The variable `HOME` of the process.
    Process,
    /// The caller.
    Caller,
    /// The caller, and `HOME` must name the same directory.
    Both,
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
            journal: None,
            #[cfg(feature = "otel")]
            telemetry: None,
            home: Home::Process,
            private_cache: PrivateDir::Default,
            private_data: PrivateDir::Default,
            engine: EngineOptions::default(),
            runtime: None,
        }
    }
}

impl Builder {
    /// Searches directories for hooks (default: yes). With `false` only hooks from code and built-in hooks run.
    pub fn directories(mut self, search: bool) -> Self {
        self.directories = search;
        self
    }

    /// Runs no hook at all, not even built-in hooks and hooks from code, and searches for none (`--no-hooks`). With
    /// `false`, the default, the user's settings can still switch hooks off (`no_hooks`).
    pub fn no_hooks(mut self, none: bool) -> Self {
        self.no_hooks = none;
        self
    }

    /// Sets the command of the agent that the hooks are for, such as `commit` (default: none). A command in the user's
    /// `skip_commands` (default: `commit` and `pr`) gets no hooks.
    pub fn command(mut self, name: impl Into<String>) -> Self {
        self.discovery.command = Some(name.into());
        self
    }

    /// Sets the thresholds of the context window for a user whose settings have none (default: warn at 0.7, compact at
    /// 0.8).
    pub fn thresholds(mut self, thresholds: Thresholds) -> Self {
        self.discovery.thresholds = thresholds;
        self
    }

    /// Examines the hooks also if the settings switch them off: for a program that shows and approves them. They still
    /// do not run (default: no).
    #[doc(hidden)]
    pub fn examine_switched_off(mut self, examine: bool) -> Self {
        self.discovery.examine_switched_off = examine;
        self
    }

    /// Names hooks by their paths in advice, for a reader who may be in another directory (default: no).
    #[doc(hidden)]
    pub fn whole_paths(mut self, whole: bool) -> Self {
        self.discovery.whole_paths = whole;
        self
    }

    /// Adds the built-in hooks (default: yes, also without directories). The user can switch off each of them.
    pub fn builtins(mut self, with: bool) -> Self {
        self.builtins = with;
        self
    }

    /// Guards hookbox's own files and those of [`Builder::protect`] by `builtin:self-protection` (default: yes). The
    /// user can switch it off, and so does [`Builder::builtins`].
    pub fn self_protection(mut self, guard: bool) -> Self {
        self.self_protection = guard;
        self
    }

    /// Sets further files that `builtin:self-protection` guards: the configuration of hooks of other programs (default:
    /// none).
    pub fn protect(mut self, protection: Protection) -> Self {
        self.chain.command_files.clone_from(&protection.command_files);
        self.protection = protection;
        self
    }

    /// Sets the working directory of the agent (default: the process's). The repository is the nearest directory above
    /// it with `.git` or a root.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.discovery.cwd = cwd.into();
        self
    }

    /// Sets the home directory, which contains the user's own hooks (default: `HOME` of the process).
    pub fn home(mut self, home: impl Into<PathBuf>) -> Self {
        let home = home.into();
        self.home = Home::Caller;
        self.chain.home = Some(home.clone());
        self.discovery.home = Some(home);
        self
    }

    /// Sets the home directory like [`Builder::home`], and requires that `HOME` names the same one. A difference is a
    /// problem that hides hooks: a command line was written for this user, and another one runs it.
    #[doc(hidden)]
    pub fn home_of_process(self, home: impl Into<PathBuf>) -> Self {
        Self { home: Home::Both, ..self.home(home) }
    }

    /// Sets the names of the directories that contain hooks, in a repository and in the home directory (default:
    /// [`DEFAULT_ROOTS`](super::DEFAULT_ROOTS)).
    pub fn roots<R: Into<String>>(mut self, roots: impl IntoIterator<Item = R>) -> Self {
        self.discovery.roots = roots.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the directory of the administrator's hooks (default: that of the system). `None` is for a test.
    #[doc(hidden)]
    pub fn managed(mut self, directory: Option<discovery::ManagedDir>) -> Self {
        self.discovery.managed = directory;
        self
    }

    /// Adds a directory of hooks, trusted like the user's own.
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.discovery.directories.push(directory.into());
        self
    }

    /// Adds a source of hooks beside the roots: hooks that are configured for another program. Those of a repository
    /// need the user's trust; the user's own run.
    ///
    /// Each search calls the source once, on a thread that may block.
    pub fn source(mut self, source: impl HookSource + 'static) -> Self {
        self.discovery.sources.push(Arc::new(source));
        self
    }

    /// Sets the rule for which hooks of a repository run (default: those that the user has trusted).
    pub fn trust(mut self, policy: TrustPolicy) -> Self {
        self.discovery.trust = policy;
        self
    }

    /// Sets limits that replace every hook's own settings and defaults, also if they are higher.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.discovery.limits = limits;
        self
    }

    /// Sets the time limit of all hooks of an event together (default: 60 s). Hooks that the user does not trust have
    /// 5 s of their own.
    pub fn chain_deadline(mut self, deadline: Duration) -> Self {
        self.chain.deadline = deadline;
        self.chain.repo_deadline = deadline;
        self
    }

    /// Sets the time that the agent waits for an event and for the search before it (default: no such limit).
    ///
    /// The user's own hooks get half of it, trusted hooks of a repository a third, and untrusted ones a sixth. In the
    /// search, all untrusted components get a sixth, and each other component two thirds.
    ///
    /// A component that is not compiled yet gets a fifth, at most 3 s, if the [`Compiler`] keeps its code in the cache
    /// ([`Compiler::keeping`]). Then it fails by its policy ([`Cause::Compiling`](crate::Cause::Compiling)), and a later
    /// search finds it compiled.
    pub fn within(mut self, total: Duration) -> Self {
        self = self.compile_wait(GRACE.min(total / 5));
        self.chain = self.chain.within(total);
        self.discovery.untrusted_timeout = self.discovery.untrusted_timeout.min(total / 6);
        self.discovery.component_timeout = self.discovery.component_timeout.min(total * 2 / 3);
        self
    }

    /// Sets the longest wait for the components that are not compiled yet and that the user trusts (default: none). They
    /// are compiled in processes that outlive this one, if the compiler and the cache can do that.
    #[doc(hidden)]
    pub fn compile_wait(mut self, wait: Duration) -> Self {
        self.discovery.compile_wait = Some(wait);
        self
    }

    /// Sets the longest time to examine all hooks together that the user has not trusted (default: 10 s).
    #[doc(hidden)]
    pub fn untrusted_timeout(mut self, timeout: Duration) -> Self {
        self.discovery.untrusted_timeout = timeout;
        self
    }

    /// Runs hooks also in an agent that a hook started (default: no). A hook that starts an agent whose hooks start it
    /// again would not end.
    pub fn allow_nested(mut self, allow: bool) -> Self {
        self.chain.allow_nested = allow;
        self
    }

    /// Lets the user allow a tool call that a hook blocks, with `hookbox allow CODE`
    /// ([`Ruling::code`](crate::outcome::Ruling::code); default: yes, in a private [`Builder::data`] directory). Blocks of
    /// hooks from code and of built-in hooks have no code.
    pub fn allowances(mut self, with: bool) -> Self {
        self.chain.allowances = with;
        self
    }

    /// Records each event of a session with its verdict (default: no).
    pub fn journal(mut self, journal: impl Journal + 'static) -> Self {
        self.journal = Some(Arc::new(journal));
        self
    }

    /// Sends each event of a session as spans and metrics (default: no). Sending does not delay a session.
    #[cfg(feature = "otel")]
    pub fn telemetry(mut self, telemetry: crate::telemetry::Telemetry) -> Self {
        self.telemetry = Some(telemetry);
        self
    }

    /// Sets the directory for compiled code and cached answers (default: `$XDG_CACHE_HOME/hookbox`, else
    /// `~/.cache/hookbox`). `None` keeps nothing. It is made if it is missing, and must belong to the user alone.
    pub fn cache(mut self, directory: Option<PathBuf>) -> Self {
        self.private_cache = PrivateDir::of(directory);
        self
    }

    /// Sets the directory for trust, grants and the state of hooks (default: `$XDG_DATA_HOME/hookbox`, else
    /// `~/.local/share/hookbox`). With `None` no hook of a repository is trusted and nothing is granted. It is made if
    /// it is missing, and must belong to the user alone.
    pub fn data(mut self, directory: Option<PathBuf>) -> Self {
        self.private_data = PrivateDir::of(directory);
        self
    }

    /// Sets the client for requests of components (default: one with the system's certificates and resolver).
    #[cfg(feature = "http")]
    pub fn network(mut self, network: crate::network::Network) -> Self {
        self.engine.network = Some(network);
        self
    }

    /// Promises that this process answers one event and ends, with nothing else running beside (default: no).
    ///
    /// It waits up to 3 s for new components, or as long as [`Builder::within`] has set.
    /// The user's files are then read in the caller's thread. A component that failed and did not change is not tried
    /// again. The engine is left to the end of the process.
    #[doc(hidden)]
    pub fn one_event(mut self, one: bool) -> Self {
        self.discovery.one_event = one;
        self.discovery.compile_wait.get_or_insert(GRACE);
        self
    }

    /// Reads and describes a component again that did not change, at the start of a session or to show it (default: no,
    /// unless it was last read a day ago). A component that failed is tried again if more time may help.
    #[doc(hidden)]
    pub fn reread(mut self, reread: bool) -> Self {
        self.discovery.reread = reread;
        self
    }

    /// Counts a directory or a settings file of the user's that cannot be read as a guard that fails in every event:
    /// for a program that answers for an agent (default: no, it is only a problem).
    #[doc(hidden)]
    pub fn unseen_blocks(mut self, blocks: bool) -> Self {
        self.discovery.unseen_blocks = blocks;
        self
    }

    /// Adds a hook from code. It runs after the user's hooks, in the order of registration; see [`Hook::run`].
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Adds a closure as a hook for one event; see [`FunctionHook`].
    pub fn on<F, A>(self, name: impl Into<String>, event: EventName, run: F) -> Self
    where
        F: Fn(Event) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Outcome, HookError>> + Send + 'static,
    {
        self.hook(FunctionHook::new(name, event, run))
    }

    /// Sets the origin of the memory of components (default: a pool).
    #[cfg(feature = "component")]
    pub fn allocation(mut self, allocation: Allocation) -> Self {
        self.engine.allocation = allocation;
        self
    }

    /// Sets the program that compiles components (default: none). It runs in a process of its own for each component,
    /// with limits of memory and time. Without it this process compiles them, without such limits.
    #[cfg(feature = "component")]
    pub fn compiler(mut self, compiler: Compiler) -> Self {
        self.engine.compiler = Some(compiler);
        self
    }

    /// Sets an engine that several managers share (default: one of its own).
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// Counts the hooks that a search has found and examined here, to show it while the search runs.
    pub fn progress(mut self, progress: &discovery::Progress) -> Self {
        self.discovery.progress = progress.clone();
        self
    }

    /// Searches for the hooks, and compiles components that are not cached.
    ///
    /// It must run on a tokio runtime with time and I/O enabled. Files are read on threads that may block. It never
    /// fails: a file that cannot be used is one of [`Manager::problems`]. If its future is dropped, programs that it
    /// started are ended.
    pub async fn build(mut self) -> Manager {
        // The host's own judge last: code, then what is built in.
        self.hooks.sort_by_key(|hook| hook.descriptor().kind == Kind::Builtin);
        let (chain, cwd) = (self.chain.clone(), self.discovery.cwd.clone());
        let (snapshot, last) = self.search(&Arc::default()).await;
        for problem in snapshot.problems.iter() {
            tracing::warn!(path = %problem.path.display(), "{}", problem.message);
        }
        for entry in snapshot.entries.iter() {
            let (name, tier, status) =
                (text::escape(&entry.name, 200), entry.tier.as_str(), entry.status.as_str());
            tracing::debug!(hook = %name, tier, status, "found a hook");
        }
        let live = Live::new(snapshot, chain, cwd, self.discovery.recording.clone());
        #[cfg(feature = "otel")]
        let live = live.reporting_to(self.telemetry.clone());
        if let Some(journal) = self.journal.clone() {
            live.record_in(journal);
        }
        let plan = Plan { builder: self, last: last.unwrap_or_default() };
        Manager { live: Arc::new(live), plan: Arc::new(Some(plan).into()) }
    }
}
