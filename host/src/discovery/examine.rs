//! Asking native hooks what they subscribe to, and loading components.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::Options;
#[cfg(feature = "component")]
use super::known::KnownFiles;
use super::last_good::LastGood;
use super::query_cache::QueryCache;
use super::{blocking, units};
use crate::event::EventName;
use crate::hook::{Digest, HookError, OnFailure};
use crate::native::Verify;
use crate::place::{self, Place};
use crate::report::{Cause, Kind};
use crate::trust::Standing;
#[cfg(feature = "component")]
use crate::wasm::{Component, MAX_COMPONENT, Runtime};

/// How long a native hook may take to name its event (design, section 6).
const QUERY_DEADLINE: Duration = Duration::from_secs(5);

/// How many candidates are examined at once: enough to hide a slow script, few enough not to flood a machine.
const AT_ONCE: usize = 8;

/// The same for what the user has not trusted: it gets one slot of its own, so that it never makes the user's own
/// hooks wait.
const UNTRUSTED_AT_ONCE: usize = 1;

/// How long looking into everything that the user has not trusted may take together, from the first of it on. An
/// agent waits for this before its first event.
const UNTRUSTED_TOGETHER: Duration = Duration::from_secs(10);

/// A native file beyond this size gets no digest, so that its answer is not kept: it is asked each time.
const MAX_NATIVE: u64 = 256 << 20;

/// A file to look into.
pub(super) struct Job {
    pub(super) place: Place,
    pub(super) path: PathBuf,
    pub(super) kind: Kind,
    /// Whether it may be run to find out; if it is refused, only its digest is taken.
    pub(super) standing: Standing,
    /// The variables that a native hook gets; all of them when absent.
    pub(super) environment: Option<Vec<String>>,
    /// Whether its digest is that of all that belongs to it, which the gate has worked out.
    pub(super) tree: bool,
    /// That digest, if it could be worked out.
    pub(super) digest: Option<Digest>,
    /// Looks once more whether it is what the user trusts, before it is asked.
    pub(super) verify: Option<Verify>,
}

/// What a file turned out to be.
pub(super) enum Ready {
    /// An executable that subscribes to this event.
    Native(EventName),
    /// A component.
    #[cfg(feature = "component")]
    Component(Box<Component>),
    /// A command or a tool, of which all is known.
    Declared,
    /// It was not to be run.
    Unasked,
}

/// What is known of a file after a look into it.
pub(super) struct Examined {
    pub(super) digest: Option<Digest>,
    pub(super) result: Result<Ready, HookError>,
    /// What a component that cannot be loaded now said of its failures when this file was last described.
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

    /// A file that was not to be run. It says so in every event, also where its digest could not be taken.
    fn unasked(digest: Option<Digest>) -> Self {
        Self::new(digest, Ok(Ready::Unasked))
    }
}

/// Looks into files, some at once.
pub(super) struct Examiner {
    cache: Option<QueryCache>,
    last: Arc<LastGood>,
    trusted: Arc<Semaphore>,
    untrusted: Arc<Semaphore>,
    /// How long what is not trusted may take together.
    together: Duration,
    /// When that is over, once it has begun.
    deadline: OnceLock<Instant>,
    /// Nothing else waits for this thread.
    one_event: bool,
    #[cfg(feature = "component")]
    known: Option<Arc<KnownFiles>>,
    #[cfg(feature = "component")]
    runtime: Runtime,
}

impl Examiner {
    pub(super) fn new(
        options: &Options,
        last: &Arc<LastGood>,
        #[cfg(feature = "component")] runtime: &Runtime,
    ) -> Self {
        Self {
            cache: options.cache.clone().map(QueryCache::new),
            last: Arc::clone(last),
            trusted: Arc::new(Semaphore::new(AT_ONCE)),
            untrusted: Arc::new(Semaphore::new(UNTRUSTED_AT_ONCE)),
            together: UNTRUSTED_TOGETHER,
            deadline: OnceLock::new(),
            one_event: options.one_event,
            #[cfg(feature = "component")]
            known: options
                .cache
                .as_deref()
                .filter(|_| options.one_event)
                .map(|cache| Arc::new(KnownFiles::open(cache, options.reread))),
            #[cfg(feature = "component")]
            runtime: runtime.clone(),
        }
    }

    /// Keeps what was learned of files, for the next process.
    pub(super) fn keep(&self) {
        #[cfg(feature = "component")]
        if let Some(known) = &self.known {
            known.keep();
        }
    }

    /// Looks into all of these files; the results come in the order of the jobs.
    pub(super) async fn examine(&self, jobs: Vec<Job>) -> Vec<Examined> {
        let mut results: Vec<Examined> = Vec::new();
        let mut tasks = JoinSet::new();
        for (at, job) in jobs.into_iter().enumerate() {
            // What stands here unless the task answers.
            results.push(Examined::failed(HookError::new(Cause::Internal, "could not be looked into")));
            let is_trusted = job.standing.is_trusted();
            let slots = Arc::clone(if is_trusted { &self.trusted } else { &self.untrusted });
            let late = if job.standing == Standing::Refused {
                Examined::unasked(job.digest.clone())
            } else {
                self.late()
            };
            let (cache, last) = (self.cache.clone(), Arc::clone(&self.last));
            // What is not trusted has its time measured, and a read in this thread could not be cut short.
            let here = self.one_event && is_trusted;
            #[cfg(feature = "component")]
            let (runtime, known) = (self.runtime.clone(), self.known.clone());
            let look = async move {
                let _slot = slots.acquire_owned().await;
                match job.kind {
                    Kind::Command | Kind::Tool => declared(job),
                    #[cfg(feature = "component")]
                    Kind::Component => component(job, here, &runtime, known.as_deref()).await,
                    #[cfg(not(feature = "component"))]
                    Kind::Component => Examined::failed(HookError::new(
                        Cause::Incompatible,
                        "is a component, and this build runs no components",
                    )),
                    _ => native(job, here, cache.as_ref(), &last).await,
                }
            };
            if is_trusted {
                tasks.spawn(async move { (at, look.await) });
            } else {
                let deadline = *self.deadline.get_or_init(|| Instant::now() + self.together);
                tasks.spawn(async move { (at, timeout_at(deadline, look).await.unwrap_or(late)) });
            }
        }
        while let Some(task) = tasks.join_next().await {
            if let Ok((at, examined)) = task
                && let Some(result) = results.get_mut(at)
            {
                *result = examined;
            }
        }
        results
    }

    /// What a component is that came too late.
    fn late(&self) -> Examined {
        let together = units::show_duration(self.together);
        Examined::failed(HookError::new(
            Cause::Timeout,
            format!("was not looked into: what an untrusted repository brings may take {together} together"),
        ))
    }
}

/// Its events stand in the file that declares it: there is nothing to ask.
fn declared(job: Job) -> Examined {
    match job.standing {
        Standing::Refused => Examined::unasked(job.digest),
        _ => Examined::new(job.digest, Ok(Ready::Declared)),
    }
}

async fn native(job: Job, here: bool, cache: Option<&QueryCache>, last: &LastGood) -> Examined {
    if job.standing == Standing::Refused {
        return Examined::unasked(job.digest);
    }
    let environment = job.environment.as_deref();
    let digest = if job.tree {
        job.digest
    } else {
        // An executable need not be readable to run: then it has no digest.
        let (place, path) = (job.place.clone(), job.path.clone());
        let digest = blocking(here, move || place.digest(&path, MAX_NATIVE)).await;
        digest.ok().and_then(Result::ok)
    };
    let known = digest.as_ref().and_then(|digest| last.answer(&job.path, digest, environment));
    if let Some(event) = known {
        return Examined::new(digest, Ok(Ready::Native(event)));
    }
    let kept = cache.zip(digest.as_ref());
    if let Some(event) = kept.and_then(|(cache, digest)| cache.get(&job.path, digest, environment)) {
        return Examined::new(digest, Ok(Ready::Native(event)));
    }
    if let Some(verify) = &job.verify
        && let Err(error) = crate::native::verified(verify, QUERY_DEADLINE).await
    {
        return Examined::new(digest, Err(error));
    }
    let result = crate::native::query(&job.path, environment, QUERY_DEADLINE).await;
    if let (Ok(event), Some((cache, digest))) = (&result, kept) {
        cache.put(&job.path, digest, environment, event);
    }
    Examined::new(digest, result.map(Ready::Native))
}

#[cfg(feature = "component")]
async fn component(job: Job, here: bool, runtime: &Runtime, known: Option<&KnownFiles>) -> Examined {
    // What a repository brought is read each time.
    let known = known.filter(|_| here && matches!(job.place, Place::Global));
    if let Some(component) = known.and_then(|known| known.component(&job.path, runtime)) {
        let digest = Some(component.digest().clone());
        return Examined::new(digest, Ok(Ready::Component(Box::new(component))));
    }
    let before = known.and_then(|known| known.stamp(&job.path));
    let examined = match read(&job, here, MAX_COMPONENT).await {
        Ok((bytes, digest)) => {
            let result = runtime.load_as(digest.clone(), bytes, here).await;
            if let (Some(known), Some(before), Ok(component)) = (known, before, &result) {
                known.learn(&job.path, before, component);
            }
            Examined::new(Some(digest), result.map(|it| Ready::Component(Box::new(it))))
        }
        Err(error) => Examined::failed(unreadable(&error)),
    };
    let policy = known.filter(|_| examined.result.is_err()).and_then(|known| known.on_failure(&job.path));
    Examined { policy, ..examined }
}

/// The bytes of a component and their digest.
#[cfg(feature = "component")]
async fn read(job: &Job, here: bool, max: u64) -> io::Result<(Vec<u8>, Digest)> {
    let (place, path) = (job.place.clone(), job.path.clone());
    let read = move || place.read(&path, max).map(|bytes| (Digest::of(&bytes), bytes));
    let (digest, bytes) = blocking(here, read).await.map_err(io::Error::other)??;
    Ok((bytes, digest))
}

/// The failure of a hook whose file cannot be read.
pub(super) fn unreadable(error: &io::Error) -> HookError {
    let cause = match error.kind() {
        io::ErrorKind::NotFound => Cause::NotFound,
        _ if place::is_escape(error) => Cause::Denied,
        io::ErrorKind::FileTooLarge => Cause::Incompatible,
        _ => Cause::Spawn,
    };
    HookError::new(cause, place::explain(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    fn job(path: PathBuf, kind: Kind, standing: Standing) -> Job {
        Job {
            place: Place::Global,
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
        let mut examiner = Examiner::new(
            &options,
            &Arc::default(),
            #[cfg(feature = "component")]
            &Runtime::default(),
        );
        examiner.together = Duration::from_millis(200);
        // Something untrusted that never comes to an end.
        let held = Arc::clone(&examiner.untrusted).acquire_owned().await.unwrap();
        for _round in 0..2 {
            let jobs = vec![
                job(at("hook"), Kind::Component, Standing::Confined),
                job(at("hook"), Kind::Native, Standing::Trusted),
                job(at("hook"), Kind::Native, Standing::Refused),
                job(at("hook"), Kind::Native, Standing::Trusted),
                job(at("hook"), Kind::Component, Standing::Confined),
            ];
            let [a, b, c, d, e] = <[Examined; 5]>::try_from(examiner.examine(jobs).await).ok().unwrap();
            for late in [&a, &e] {
                let error = late.result.as_ref().err().unwrap();
                assert_eq!(error.cause, Cause::Timeout);
                assert_eq!(
                    error.message,
                    "was not looked into: what an untrusted repository brings may take 200ms together"
                );
            }
            for trusted in [&b, &d] {
                assert!(matches!(&trusted.result, Ok(Ready::Native(EventName::TurnEnd))));
            }
            // It is reported in every event all the same.
            assert!(matches!((&c.digest, &c.result), (None, Ok(Ready::Unasked))));
        }
        drop(held);
        assert_eq!(examiner.untrusted.available_permits(), 1);
    }
}
