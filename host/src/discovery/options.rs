//! Where to look for hooks.

use std::path::PathBuf;
use std::time::Duration;

use crate::dialect::agent::Agent;
use crate::hook::Limits;
use crate::thresholds::Thresholds;
use crate::trust::TrustPolicy;

/// The roots unless told otherwise.
pub const DEFAULT_ROOTS: [&str; 2] = [".hookbox", ".kodelet"];

/// Where to look for hooks, and what holds for them.
#[derive(Clone, Debug)]
pub struct Options {
    /// The working directory, from which the repository is found. A relative one is taken from the process's own;
    /// an empty one, and one that is not there, is in no repository of its own.
    pub cwd: PathBuf,
    /// The home directory; without it there are no global tiers.
    pub home: Option<PathBuf>,
    /// Directory names that hold hooks, in their order. [`DEFAULT_ROOTS`].
    pub roots: Vec<String>,
    /// Hooks directories of the embedder, treated like the user's own: tier global, after the roots. No settings
    /// file speaks of them. None.
    pub directories: Vec<PathBuf>,
    /// What of a repository runs. [`TrustPolicy::Recorded`].
    pub trust: TrustPolicy,
    /// Limits that go before every default and setting, also where they are higher. None.
    pub limits: Limits,
    /// A private directory for what native hooks answered to `hook`; without it each one is asked each time.
    pub cache: Option<PathBuf>,
    /// A private directory that holds what the user trusts and has granted, and the state of hooks; without it
    /// nothing of a repository is trusted and nothing is granted.
    pub data: Option<PathBuf>,
    /// The command of the agent that the hooks are for, such as `commit`; one of the user's `skip_commands`
    /// ([`DEFAULT_SKIP_COMMANDS`] unless the settings say otherwise) gets no hooks. None.
    pub command: Option<String>,
    /// The thresholds of the context window where the user's settings say nothing. 0.7 and 0.8, compact.
    pub thresholds: Thresholds,
    /// The agents whose hooks are looked for as well: those of the project, of the user, and of Claude Code's plugins.
    /// None.
    pub from: Vec<Agent>,
    /// Plugins of other agents, each in its directory: treated like the user's own. None.
    pub agent_plugins: Vec<(Agent, PathBuf)>,
    /// Look into the hooks also where none of them runs, for whoever shows and approves them. No.
    pub look_anyway: bool,
    /// The process answers one event and ends, and nothing else runs beside: the user's files are read where they are
    /// needed, in no thread of their own, and a component that did not change since it was last read is neither read nor
    /// described again, nor compiled where that failed. No.
    pub one_event: bool,
    /// A component that did not change is read again all the same, also where one event is answered: at the start of a
    /// session. No.
    pub reread: bool,
    /// How long looking into a component may take that the user trusts; a minute at most. A minute.
    pub own_look: Duration,
    /// How long looking into all components together may take that the user has not trusted. 10 s.
    pub untrusted_look: Duration,
    /// What hides hooks of the user's (a directory, settings or declarations that cannot be read) counts as a guard that
    /// fails in every event: for who answers for an agent. No: it is a problem, and everything else works.
    pub unseen_blocks: bool,
}

impl Options {
    /// The defaults, for this working directory and home directory.
    pub fn new(cwd: impl Into<PathBuf>, home: Option<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            home,
            roots: DEFAULT_ROOTS.map(str::to_owned).into(),
            directories: Vec::new(),
            trust: TrustPolicy::default(),
            limits: Limits::default(),
            cache: None,
            data: None,
            command: None,
            thresholds: Thresholds::default(),
            from: Vec::new(),
            agent_plugins: Vec::new(),
            look_anyway: false,
            one_event: false,
            reread: false,
            own_look: Duration::from_secs(60),
            // An agent waits for this before its first event.
            untrusted_look: Duration::from_secs(10),
            unseen_blocks: false,
        }
    }
}
