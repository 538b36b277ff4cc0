//! Asks native hooks for their events, and loads components.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::blocking;
use super::fallback::LastGood;
use super::hook_cache::HookCache;
use crate::discovery::find::options::Options;
use crate::discovery::units;
use crate::event::EventName;
use crate::files::{self, FileAccess};
use crate::hook::{Cause, Digest, HookError, Kind, OnFailure};
use crate::native::Verify;
use crate::trust::TrustLevel;
use crate::wasm::{Component, MAX_COMPONENT, RUNS_COMPONENTS, Runtime};

/// The time limit for a native hook to name its event.
const QUERY_DEADLINE: Duration = Duration::from_secs(5);

/// The number of candidates that are examined at once: enough to hide a slow script, few enough for any
/// machine. Untrusted ones follow, one at a time.
const AT_ONCE: usize = 8;

/// The number of untrusted components that are examined: the cache has room for all of them.
const MAX_UNTRUSTED: usize = 128;

/// A native file beyond this size gets no digest, and its answer is not cached.
const MAX_NATIVE: u64 = 256 << 20;

/// A file to examine.
pub(super) struct Job {
    pub(super) access: FileAccess,
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// Its trust. A refused file is not run, only its digest is taken.
    pub(super) standing: TrustLevel,
    /// The variables that a native hook gets; `None` means all of them.
    pub(super) environment: Option<Vec<String>>,
    /// True if the gate has computed the digest of everything that belongs to it.
    pub(super) tree: bool,
    /// That digest, if it could be computed.
    pub(super) digest: Option<Digest>,
    /// Checks once more that it is the trusted file, before it is asked.
    pub(super) verify: Option<Verify>,
}

/// The kind of hook that a file contains.
pub(super) enum Ready {
    /// An executable that subscribes to this event.
    Native(EventName),
    /// A component.
    Component(Box<Component>),
    /// A command or a tool: its declaration says everything.
    Declared,
    /// It may not be run.
    Unasked,
}

/// The result of examining a file.
pub(super) struct Examined {
    pub(super) digest: Option<Digest>,
    pub(super) result: Result<Ready, HookError>,
    /// The failure policy in the last description of a component that cannot be loaded now.
    pub(super) policy: Option<OnFailure>,
}

impl Examined {
    fn new(digest: Option<Digest>, result: Result<Ready, HookError>) -> Self {
        Self { digest, result, policy: None }
    }

    /// A file that cannot be used.
    pub(super) fn failed(error: HookError) -> Self {
        Self::new(None, Err(error))
    }

    /// The result for a file that may not be run. It fails in every event, also without a digest.
    fn unasked(digest: Option<Digest>) -> Self {
        Self::new(digest, Ok(Ready::Unasked))
    }
}

/// Examines files, several at once.
pub(super) struct Examiner {
    eyes: Eyes,
    slots: Arc<Semaphore>,
    /// The time limit for a component that the user trusts.
    own: Duration,
    /// The time limit for all untrusted files together, and the used part of it.
    together: Duration,
    used: Mutex<Duration>,
    untrusted: AtomicUsize,
}

/// The parts that examining a file needs.
#[derive(Clone)]
struct Eyes {
    cache: Option<Arc<HookCache>>,
    last: Arc<LastGood>,
    /// The process answers one event, and nothing else waits for this thread.
    one_event: bool,
    /// The same cache, if components are taken from it.
    known: Option<Arc<HookCache>>,
    runtime: Runtime,
}

impl Examiner {
    pub(super) fn new(options: &Options, last: &Arc<LastGood>, runtime: &Runtime) -> Self {
        let cache = options.cache.as_deref().map(|cache| Arc::new(HookCache::open(cache, options.reread)));
        let eyes = Eyes {
            cache: cache.clone(),
            last: Arc::clone(last),
            one_event: options.one_event,
            known: cache.filter(|_| options.one_event && RUNS_COMPONENTS),
            runtime: runtime.clone(),
        };
        Self {
            eyes,
            slots: Arc::new(Semaphore::new(AT_ONCE)),
            own: options.own_look,
            together: options.untrusted_look,
            used: Mutex::default(),
            untrusted: AtomicUsize::new(0),
        }
    }

    /// Writes the cache for the next process.
    pub(super) fn keep(&self) {
        if let Some(cache) = &self.eyes.cache {
            cache.keep();
        }
    }

    /// Returns the time that untrusted files took.
    pub(super) fn untrusted_look(&self) -> Duration {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Examines these files; the results have the order of the jobs.
    pub(super) async fn examine(&self, jobs: Vec<Job>) -> Vec<Examined> {
        let mut results: Vec<Examined> = Vec::new();
        let mut tasks = JoinSet::new();
        let mut untrusted = Vec::new();
        for (at, job) in jobs.into_iter().enumerate() {
            // The result if the task fails.
            results.push(Examined::failed(HookError::new(Cause::Internal, "could not be looked into")));
            if !job.standing.is_trusted() {
                untrusted.push((at, job));
                continue;
            }
            let (slots, eyes, own) = (Arc::clone(&self.slots), self.eyes.clone(), self.own);
            tasks.spawn(async move {
                let _slot = slots.acquire_owned().await;
                (at, eyes.look(job, own).await)
            });
        }
        let mut set = |at: usize, examined| {
            if let Some(result) = results.get_mut(at) {
                *result = examined;
            }
        };
        while let Some(task) = tasks.join_next().await {
            if let Ok((at, examined)) = task {
                set(at, examined);
            }
        }
        // After the user's own hooks, which do not wait for these.
        for (at, job) in untrusted {
            set(at, self.look_at_untrusted(job).await);
        }
        results
    }

    /// Examines an untrusted file, in the rest of the time for all of them.
    async fn look_at_untrusted(&self, job: Job) -> Examined {
        if job.standing == TrustLevel::Refused {
            return Examined::unasked(job.digest);
        }
        if job.kind == Kind::Component {
            if self.untrusted.fetch_add(1, Ordering::Relaxed) >= MAX_UNTRUSTED {
                let what = format!(
                    "was not looked into: of components that nobody trusts {MAX_UNTRUSTED} are looked into"
                );
                return Examined::failed(HookError::new(Cause::Incompatible, what));
            }
            if let Some(examined) = self.eyes.remembered(&job, self.together) {
                return examined;
            }
        }
        let left = self.together.saturating_sub(self.untrusted_look());
        let (known, path) = (self.eyes.known.as_ref(), job.path.clone());
        let stamp = known.and_then(|known| known.stamp(&path));
        if !left.is_zero() {
            let began = Instant::now();
            // In a box, because the futures of discovery are large.
            let examined = timeout(left, Box::pin(self.eyes.look(job, self.together))).await;
            *self.used.lock().unwrap_or_else(PoisonError::into_inner) += began.elapsed();
            if let Ok(examined) = examined {
                return examined;
            }
        }
        let error = self.late();
        if let (Some(known), Some(stamp)) = (known, stamp) {
            known.learn(&path, (stamp, false), self.together, (None, Err(&error)));
        }
        Examined::failed(error)
    }

    /// Returns the failure of a file that came too late.
    fn late(&self) -> HookError {
        let together = units::show_duration(self.together);
        let what = format!(
            "was not looked into: what an untrusted repository brings may take {together} together; it is tried again at \
             the start of a session"
        );
        HookError::new(Cause::Timeout, what)
    }
}

impl Eyes {
    /// Examines a file; a component within this time.
    async fn look(&self, job: Job, within: Duration) -> Examined {
        // The time of untrusted files is limited, and a read in this thread could not be stopped.
        let here = self.one_event && job.standing.is_trusted();
        match job.kind {
            Kind::Command | Kind::Tool => declared(job),
            Kind::Component => self.component(job, here, within).await,
            _ => native(job, here, self.cache.as_deref(), &self.last).await,
        }
    }
}

/// Its events are declared: there is nothing to ask.
fn declared(job: Job) -> Examined {
    match job.standing {
        TrustLevel::Refused => Examined::unasked(job.digest),
        _ => Examined::new(job.digest, Ok(Ready::Declared)),
    }
}

async fn native(job: Job, here: bool, cache: Option<&HookCache>, last: &LastGood) -> Examined {
    if job.standing == TrustLevel::Refused {
        return Examined::unasked(job.digest);
    }
    let environment = job.environment.as_deref();
    let digest = if job.tree {
        job.digest
    } else {
        // An executable that runs need not be readable: then it has no digest.
        let (access, path) = (job.access.clone(), job.path.clone());
        let digest = blocking(here, move || access.digest(&path, MAX_NATIVE)).await;
        digest.ok().and_then(Result::ok)
    };
    let known = digest.as_ref().and_then(|digest| last.answer(&job.path, digest, environment));
    if let Some(event) = known {
        return Examined::new(digest, Ok(Ready::Native(event)));
    }
    let kept = cache.zip(digest.as_ref());
    if let Some(event) = kept.and_then(|(cache, digest)| cache.answer(&job.path, digest, environment)) {
        return Examined::new(digest, Ok(Ready::Native(event)));
    }
    if let Some(verify) = &job.verify
        && let Err(error) = crate::native::verified(verify, QUERY_DEADLINE).await
    {
        return Examined::new(digest, Err(error));
    }
    let result = crate::native::query(&job.path, environment, QUERY_DEADLINE).await;
    if let (Ok(event), Some((cache, digest))) = (&result, kept) {
        cache.learn_answer(&job.path, digest, environment, event);
    }
    Examined::new(digest, result.map(Ready::Native))
}

impl Eyes {
    /// Returns the failure of a component that failed before and is unchanged.
    fn remembered(&self, job: &Job, within: Duration) -> Option<Examined> {
        let (known, path) = (self.known.as_ref()?, &job.path);
        let (digest, error) = known.failure(path, within, &self.runtime)?;
        tracing::debug!(path = %path.display(), %error, "a component failed before");
        Some(Examined { digest, result: Err(error), policy: known.on_failure(path) })
    }

    async fn component(&self, job: Job, here: bool, within: Duration) -> Examined {
        let Some(known) = &self.known else {
            let read = read(&job, here, MAX_COMPONENT).await;
            return self.load(read, here, within).await;
        };
        if let Some(examined) = self.remembered(&job, within) {
            return examined;
        }
        let (it, path, runtime) = (Arc::clone(known), job.path.clone(), self.runtime.clone());
        if let Ok(Some(component)) = blocking(here, move || it.component(&path, &runtime)).await {
            let digest = Some(component.digest().clone());
            return Examined::new(digest, Ok(Ready::Component(Box::new(component))));
        }
        let before = known.stamp(&job.path);
        let read = read(&job, here, MAX_COMPONENT).await;
        let known_failure = read.as_ref().ok().and_then(|(_, digest)| known.failure_of(digest, within));
        let examined = match (known_failure, &read) {
            (Some(error), Ok((_, digest))) => Examined::new(Some(digest.clone()), Err(error)),
            _ => self.load(read, here, within).await,
        };
        if let (Some(before), Some(digest)) = (before, &examined.digest) {
            let result = match &examined.result {
                Ok(Ready::Component(component)) => Ok(&**component),
                Err(error) => Err(error),
                Ok(_) => return examined,
            };
            known.learn(&job.path, (before, job.standing.is_trusted()), within, (Some(digest), result));
        }
        let policy = examined.result.is_err().then(|| known.on_failure(&job.path)).flatten();
        Examined { policy, ..examined }
    }

    /// Loads the bytes that were read, within this time.
    async fn load(&self, read: io::Result<(Vec<u8>, Digest)>, here: bool, within: Duration) -> Examined {
        let (bytes, digest) = match read {
            Ok(read) => read,
            Err(error) => return Examined::failed(unreadable(&error)),
        };
        let result = match timeout(within, self.runtime.load_as(digest.clone(), bytes, here)).await {
            Ok(result) => result,
            Err(_) => {
                let within = units::show_duration(within);
                let what = format!("took longer than {within} to compile; `hookbox list` gives it more time");
                Err(HookError::new(Cause::Timeout, what))
            }
        };
        Examined::new(Some(digest), result.map(|it| Ready::Component(Box::new(it))))
    }
}

/// Reads the bytes of a component and computes their digest.
async fn read(job: &Job, here: bool, max: u64) -> io::Result<(Vec<u8>, Digest)> {
    let (access, path) = (job.access.clone(), job.path.clone());
    let read = move || access.read(&path, max).map(|bytes| (Digest::of(&bytes), bytes));
    let (digest, bytes) = blocking(here, read).await.map_err(io::Error::other)??;
    Ok((bytes, digest))
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn job(path: PathBuf, kind: Kind, standing: TrustLevel) -> Job {
        Job {
            access: FileAccess::Global,
            path,
            kind,
            standing,
            environment: None,
            tree: false,
            digest: None,
            verify: None,
        }
    }

    #[tokio::test]
    async fn the_users_hooks_never_wait_for_what_is_not_trusted_and_results_keep_their_order() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        fs::write(at("draft"), "#!/bin/sh\necho turn_end\n").unwrap();
        fs::set_permissions(at("draft"), fs::Permissions::from_mode(0o755)).unwrap();
        assert!(
            std::process::Command::new("cp").arg(at("draft")).arg(at("hook")).status().unwrap().success()
        );

        let options = Options::new(temp.path(), None);
        let mut examiner = Examiner::new(&options, &Arc::default(), &Runtime::default());
        examiner.together = Duration::from_millis(200);
        // Something untrusted has used it up.
        *examiner.used.lock().unwrap() = examiner.together;
        for _round in 0..2 {
            let jobs = vec![
                job(at("hook"), Kind::Component, TrustLevel::Confined),
                job(at("hook"), Kind::Native, TrustLevel::Trusted),
                job(at("hook"), Kind::Native, TrustLevel::Refused),
                job(at("hook"), Kind::Native, TrustLevel::Trusted),
                job(at("hook"), Kind::Component, TrustLevel::Confined),
            ];
            let [a, b, c, d, e] = <[Examined; 5]>::try_from(examiner.examine(jobs).await).ok().unwrap();
            for late in [&a, &e] {
                let error = late.result.as_ref().err().unwrap();
                assert_eq!(error.cause, Cause::Timeout);
                assert_eq!(
                    error.message,
                    "was not looked into: what an untrusted repository brings may take 200ms together; it is tried \
                     again at the start of a session"
                );
            }
            for trusted in [&b, &d] {
                assert!(matches!(&trusted.result, Ok(Ready::Native(EventName::TurnEnd))));
            }
            // It is reported in every event all the same.
            assert!(matches!((&c.digest, &c.result), (None, Ok(Ready::Unasked))));
        }
    }
}
