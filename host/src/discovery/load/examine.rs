//! Asks native hooks for their events, and loads components and rules.

use std::io::{self, Read as _};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::available_parallelism;
use std::time::Duration;

use hookbox_system::{files, mutex, units};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::blocking;
use super::hook_cache::{self, HookCache};
use super::judged::Judged;
use crate::discovery::find::{Candidate, Kept, Options, Progress};
use crate::event::EventName;
use crate::hook::{Cause, Digest, HookError, Kind, Manifest, OnFailure, Origin, Subscription};
use crate::native::QUERY;
use crate::rules::{MAX_FILE, Rules};
use crate::trust::TrustLevel;
use crate::wasm::{Component, MAX_COMPONENT, RUNS_COMPONENTS, Runtime, Wait};

/// The number of native hooks that are asked at once: enough to hide a slow script, few enough for any machine. Of
/// components, one for each processor is examined. Untrusted hooks follow, one at a time.
const AT_ONCE: usize = 8;

/// The number of untrusted components that are examined: the cache has room for all of them.
const MAX_UNTRUSTED: usize = 128;

/// A native file beyond this size gets no digest, and its answer is not cached.
const MAX_NATIVE: u64 = 256 << 20;

/// The contents of a file that describes itself.
#[derive(Clone)]
pub(super) enum Described {
    Component(Component),
    Rules(Box<Rules>),
}

impl Described {
    pub(super) fn digest(&self) -> &Digest {
        match self {
            Self::Component(it) => it.digest(),
            Self::Rules(it) => it.digest(),
        }
    }

    pub(super) fn manifest(&self) -> &Manifest {
        match self {
            Self::Component(it) => it.manifest(),
            Self::Rules(it) => it.manifest(),
        }
    }
}

/// The kind of hook that a file contains.
pub(super) enum Ready {
    /// An executable that subscribes to this event.
    Native(EventName),
    /// A component or rules.
    Described(Described),
    /// A command or a tool: its declaration has its events.
    Declared,
    /// It may not be run.
    Refused,
}

/// The result of examining a file.
pub(super) struct Examined {
    pub(super) digest: Option<Digest>,
    pub(super) result: Result<Ready, HookError>,
    /// The failure policy in the last description of a component that cannot be loaded now, or in a broken rules file.
    pub(super) policy: Option<OnFailure>,
    /// The subscriptions of a component that is being compiled, if these bytes were described before.
    pub(super) subscriptions: Vec<Subscription>,
    /// The broken file, if its last working version stays in force.
    pub(super) kept: Option<Kept>,
}

impl Examined {
    pub(super) fn new(digest: Option<Digest>, result: Result<Ready, HookError>) -> Self {
        Self { digest, result, policy: None, subscriptions: Vec::new(), kept: None }
    }

    /// A file that cannot be used.
    pub(super) fn failed(error: HookError) -> Self {
        Self::new(None, Err(error))
    }
}

/// Examines the files of hooks, several at once.
pub(super) struct Examiner {
    cache: Option<HookCache>,
    /// The process answers one event, and nothing else waits for this thread.
    one_event: bool,
    /// The end of the wait for the user's components that are not compiled; without it their own limit of time counts.
    compiled_by: Option<Instant>,
    runtime: Runtime,
    slots: Semaphore,
    /// The same for components.
    processors: Semaphore,
    progress: Progress,
    /// The time limit for a component that the user trusts.
    own: Duration,
    /// The time limit for all untrusted files together, and the used part of it.
    together: Duration,
    used: Mutex<Duration>,
    untrusted: AtomicUsize,
}

impl Examiner {
    pub(super) fn new(options: &Options, runtime: &Runtime) -> Self {
        Self {
            cache: options.cache.as_deref().map(|cache| HookCache::open(cache, options.reread)),
            one_event: options.one_event,
            compiled_by: options.compile_wait.and_then(|wait| Instant::now().checked_add(wait)),
            runtime: runtime.clone(),
            slots: Semaphore::new(AT_ONCE),
            // One thread examines for one event. To ask for the number of processors takes twenty system calls.
            processors: Semaphore::new(match options.one_event {
                true => AT_ONCE,
                false => available_parallelism().map_or(1, NonZero::get),
            }),
            progress: options.progress.clone(),
            own: options.component_timeout,
            together: options.untrusted_timeout,
            used: Mutex::default(),
            untrusted: AtomicUsize::new(0),
        }
    }

    /// Writes the cache for the next process.
    pub(super) fn save_cache(&self) {
        self.cache.iter().for_each(HookCache::save);
    }

    /// Returns the time that untrusted files took.
    pub(super) fn untrusted_time(&self) -> Duration {
        *mutex::lock(&self.used)
    }

    /// Examines the files of these hooks; the results have their order.
    pub(super) async fn examine(self: &Arc<Self>, jobs: Vec<Arc<Judged>>) -> Vec<Examined> {
        let mut results: Vec<Examined> = Vec::new();
        let mut tasks = JoinSet::new();
        let mut untrusted = Vec::new();
        self.progress.find(jobs.len());
        for (at, job) in jobs.into_iter().enumerate() {
            // The result if the task fails.
            results.push(Examined::failed(HookError::new(Cause::Internal, "could not be examined")));
            if !job.standing.is_trusted() {
                untrusted.push((at, job));
                continue;
            }
            let it = Arc::clone(self);
            tasks.spawn(async move {
                let slots = if job.candidate.kind == Kind::Component { &it.processors } else { &it.slots };
                let _slot = slots.acquire().await;
                (at, it.examine_file(&job, it.own).await)
            });
        }
        let mut set = |at: usize, examined| {
            if let Some(result) = results.get_mut(at) {
                *result = examined;
            }
            self.progress.examine();
        };
        while let Some(task) = tasks.join_next().await {
            if let Ok((at, examined)) = task {
                set(at, examined);
            }
        }
        // After the user's own hooks, which do not wait for these.
        for (at, job) in untrusted {
            set(at, self.examine_untrusted(&job).await);
        }
        results
    }

    /// Examines an untrusted file, in the rest of the time for all of them. A refused file is not run, only its digest is
    /// taken.
    async fn examine_untrusted(self: &Arc<Self>, job: &Judged) -> Examined {
        let Candidate { kind, path, .. } = &job.candidate;
        if job.standing == TrustLevel::Refused {
            // It fails in every event, also without a digest.
            return Examined::new(job.digest(), Ok(Ready::Refused));
        }
        if *kind == Kind::Component {
            if self.untrusted.fetch_add(1, Ordering::Relaxed) >= MAX_UNTRUSTED {
                let what =
                    format!("was not examined: at most {MAX_UNTRUSTED} untrusted components are examined");
                return Examined::failed(HookError::new(Cause::Incompatible, what));
            }
            if let Some(examined) = self.remembered(job, false, self.together).await {
                return examined;
            }
        }
        let left = self.together.saturating_sub(self.untrusted_time());
        let known = self.components().filter(|_| *kind == Kind::Component);
        let stamp = known.and_then(|known| known.stamp(path));
        if !left.is_zero() {
            let began = Instant::now();
            // In a box, because the futures of discovery are large.
            let examined = timeout(left, Box::pin(self.examine_file(job, self.together))).await;
            *mutex::lock(&self.used) += began.elapsed();
            if let Ok(examined) = examined {
                return examined;
            }
        }
        let error = self.late();
        if let (Some(known), Some(stamp)) = (known, stamp) {
            known.learn(path, (stamp, false), self.together, (None, Err(&error)));
        }
        Examined::failed(error)
    }

    /// Returns the failure of a file that came too late.
    fn late(&self) -> HookError {
        let together = units::show_duration(self.together);
        let what = format!(
            "was not examined: untrusted files of a repository may take {together} together; it is tried again at the \
             start of a session"
        );
        HookError::new(Cause::Timeout, what)
    }

    /// Examines a hook's file; a component within this time.
    async fn examine_file(self: &Arc<Self>, job: &Judged, within: Duration) -> Examined {
        // The time of untrusted files is limited, and a read in this thread could not be stopped.
        let here = self.one_event && job.standing.is_trusted();
        match job.candidate.kind {
            Kind::Component => self.component(job, here, within).await,
            Kind::Rules => examine_rules(job, here).await,
            // Its events are declared: there is nothing to ask.
            kind if kind.is_declared() => Examined::new(job.digest(), Ok(Ready::Declared)),
            // This user's cache does not count for the administrator's hooks.
            _ => native(job, here, self.cache.as_ref().filter(|_| job.origin() != Origin::Managed)).await,
        }
    }

    /// Returns the cache if it can have components.
    fn components(&self) -> Option<&HookCache> {
        self.cache.as_ref().filter(|_| RUNS_COMPONENTS)
    }

    /// Returns the wait for a component. Compiling for an untrusted file ends with its time: a repository gets no more of
    /// the processor.
    fn wait(&self, job: &Judged, here: bool) -> Wait {
        Wait { here, until: self.compiled_by.filter(|_| job.standing.is_trusted()) }
    }

    /// Returns the result for a component whose file is unchanged since it was last examined: nothing of it is read or
    /// loaded now.
    async fn remembered(self: &Arc<Self>, job: &Judged, here: bool, within: Duration) -> Option<Examined> {
        self.components()?;
        let (it, wait) = (Arc::clone(self), self.wait(job, here));
        let (path, access) = (job.candidate.path.clone(), job.candidate.dir.access.clone());
        let look = move || {
            let known = it.components()?;
            let row = known.row(&path)?;
            let failure = known.failure(&row, within, |digest| it.runtime.has_code(digest));
            // A process that serves many events tries it again: it has the time.
            if let Some(error) = failure.filter(|_| it.one_event) {
                tracing::debug!(path = %path.display(), %error, "a component failed before");
                return Some(Examined { policy: row.on_failure, ..Examined::new(row.digest, Err(error)) });
            }
            let (digest, size) = known.usable(&row)?;
            tracing::debug!(path = %path.display(), %digest, "a component is unchanged");
            let read = Arc::new(move || access.read(&path, MAX_COMPONENT));
            let component = it.runtime.load_later(digest, size, wait, read)?;
            Some(Examined::new(row.digest, Ok(Ready::Described(Described::Component(component)))))
        };
        blocking(here, look).await.ok()?
    }

    async fn component(self: &Arc<Self>, job: &Judged, here: bool, within: Duration) -> Examined {
        let path = &job.candidate.path;
        let is_managed = job.origin() == Origin::Managed;
        let Some(known) = self.components().filter(|_| !is_managed) else {
            return self.examined(job, self.load(job, here, within).await);
        };
        if let Some(examined) = self.remembered(job, here, within).await {
            return examined;
        }
        let before = known.stamp(path);
        let (digest, result) = self.load(job, here, within).await;
        if let (Some(before), Some(digest)) = (before, &digest) {
            known.learn(path, (before, job.standing.is_trusted()), within, (Some(digest), result.as_ref()));
        }
        let examined = self.examined(job, (digest, result));
        let before = || examined.result.is_err().then(|| known.on_failure(path)).flatten();
        Examined { policy: examined.policy.or_else(before), ..examined }
    }

    /// Reads and loads a component, within this time.
    async fn load(&self, job: &Judged, here: bool, within: Duration) -> Loaded {
        let (access, path) = (job.candidate.dir.access.clone(), job.candidate.path.clone());
        let read = move || access.read(&path, MAX_COMPONENT).map(|bytes| (Digest::of(&bytes), bytes));
        let (digest, bytes) = match blocking(here, read).await.map_err(io::Error::other).and_then(|it| it) {
            Ok(read) => read,
            Err(error) => return (None, Err(unreadable(&error))),
        };
        let load = self.runtime.load_as(digest.clone(), bytes, self.wait(job, here));
        let result = timeout(within, load).await.unwrap_or_else(|_| {
            // Nobody reads the milliseconds of a deadline's part.
            let whole = Duration::from_secs(within.as_secs());
            let within = units::show_duration(if whole.is_zero() { within } else { whole });
            let what = format!(
                "took longer than {within} to compile; run `hookbox list` once: it waits longer, and keeps the \
                 compiled component"
            );
            Err(HookError::new(Cause::Timeout, what))
        });
        (Some(digest), result)
    }

    /// Returns the result for a component. The last description of one that is being compiled decides what follows.
    fn examined(&self, job: &Judged, (digest, result): Loaded) -> Examined {
        match (digest, result) {
            (Some(digest), Err(error)) if error.cause == Cause::Compiling => {
                let (known, error) = (self.runtime.known(&digest), error.until_compiled(&job.candidate.path));
                let (policy, subscriptions) = (known.on_failure, known.subscriptions());
                Examined { policy, subscriptions, ..Examined::new(Some(digest), Err(error)) }
            }
            (digest, result) => {
                let ready = |it| Ready::Described(Described::Component(it));
                Examined::new(digest, result.map(ready))
            }
        }
    }
}

async fn native(job: &Judged, here: bool, cache: Option<&HookCache>) -> Examined {
    let path = &job.candidate.path;
    let environment = job.table.environment.as_deref();
    let digest = match job.tree_digest {
        Some(_) => job.digest(),
        // An executable that runs need not be readable: then it has no digest.
        None => {
            let (access, path) = (job.candidate.dir.access.clone(), path.clone());
            let digest = blocking(here, move || access.digest(&path, MAX_NATIVE)).await;
            digest.ok().and_then(Result::ok)
        }
    };
    let kept = cache.zip(digest.as_ref().map(|digest| hook_cache::key(path, digest, environment)));
    if let Some(event) = kept.as_ref().and_then(|(cache, key)| cache.answer(key)) {
        return Examined::new(digest, Ok(Ready::Native(event)));
    }
    let verify = job.verify();
    if let Some(verify) = &verify
        && let Err(error) = crate::native::verified(verify, QUERY).await
    {
        return Examined::new(digest, Err(error));
    }
    let variables: Vec<_> = crate::native::no_bytecode(verify.as_ref()).into_iter().collect();
    let result = crate::native::query(path, environment, &variables, QUERY).await;
    if let (Ok(event), Some((cache, key))) = (&result, kept) {
        cache.learn_answer(key, event);
    }
    Examined::new(digest, result.map(Ready::Native))
}

/// The digest of a component's bytes, if they could be read, and the component.
type Loaded = (Option<Digest>, Result<Component, HookError>);

/// Returns the failure of a hook whose file cannot be read.
pub(super) fn unreadable(error: &io::Error) -> HookError {
    let cause = match error.kind() {
        io::ErrorKind::NotFound => Cause::NotFound,
        _ if files::is_escape(error) => Cause::Denied,
        io::ErrorKind::FileTooLarge => Cause::Incompatible,
        _ => Cause::Spawn,
    };
    HookError::new(cause, files::explain(error))
}

/// Reads a rules file, and checks its examples.
async fn examine_rules(job: &Judged, here: bool) -> Examined {
    let (access, path) = (job.candidate.dir.access.clone(), job.candidate.path.clone());
    let read = move || -> io::Result<Examined> {
        // One byte more than it may have: the policy at the beginning of a file that is too large still counts.
        let mut bytes = Vec::new();
        access.open(&path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
        let digest = Some(Digest::of(&bytes)).filter(|_| bytes.len() as u64 <= MAX_FILE);
        Ok(match Rules::read(&bytes) {
            Ok(rules) => Examined::new(digest, Ok(Ready::Described(Described::Rules(Box::new(rules))))),
            Err(error) => {
                let failure = HookError::new(Cause::Incompatible, error.to_string());
                Examined { policy: error.on_failure, ..Examined::new(digest, Err(failure)) }
            }
        })
    };
    let examined = blocking(here, read).await.map_err(io::Error::other);
    examined.and_then(|it| it).unwrap_or_else(|error| Examined::failed(unreadable(&error)))
}

#[cfg(test)]
mod tests;
