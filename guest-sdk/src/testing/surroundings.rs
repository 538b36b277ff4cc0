//! The settings, the log and the state of the case that this thread runs.

use std::cell::RefCell;
use std::fs::DirBuilder;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;

thread_local! {
    static CURRENT: RefCell<Option<Surroundings>> = const { RefCell::new(None) };
}

/// The surroundings of a case.
struct Surroundings {
    settings: Vec<(String, String)>,
    data: PathBuf,
    has_store: bool,
    was_denied: bool,
    log: String,
}

/// Makes surroundings for this thread; they last as long as this value.
pub(super) struct Entered(PathBuf);

impl Entered {
    pub(super) fn new(settings: Vec<(String, String)>) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let data = std::env::temp_dir().join(format!("hookbox-case-{}-{number}", process::id()));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // Not an existing directory: another user may have made it.
        builder.create(&data).map_err(|error| Error::from(error).within(data.display()))?;
        let entered = Self(data.clone());
        CURRENT.with_borrow_mut(|current| {
            *current =
                Some(Surroundings { settings, data, has_store: true, was_denied: false, log: String::new() });
        });
        Ok(entered)
    }

    /// Lets the hook use the store, or not.
    pub(super) fn allow_store(&self, is_allowed: bool) {
        change(|it| it.has_store = is_allowed);
    }

    /// Returns true if the hook used the store without the right since the last question.
    pub(super) fn take_denied(&self) -> bool {
        change(|it| std::mem::take(&mut it.was_denied)).unwrap_or_default()
    }

    /// Returns what the hook logged.
    pub(super) fn log(&self) -> String {
        change(|it| it.log.clone()).unwrap_or_default()
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.with_borrow_mut(|current| *current = None);
        // A failure leaves a small directory among the temporary files.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn change<T>(change: impl FnOnce(&mut Surroundings) -> T) -> Option<T> {
    CURRENT.with_borrow_mut(|current| current.as_mut().map(change))
}

/// Returns the settings of the case that this thread runs, if it runs one.
pub(crate) fn settings() -> Option<Vec<(String, String)>> {
    change(|it| it.settings.clone())
}

/// Returns the directory of the hook's data.
pub(crate) fn data() -> Option<Result<PathBuf, Error>> {
    change(|it| {
        if it.has_store {
            return Ok(it.data.clone());
        }
        it.was_denied = true;
        Err(Error::new("the right `store` was not granted"))
    })
}

/// Keeps a line of the log. Returns false if this thread runs no case.
pub(crate) fn log(line: &str) -> bool {
    change(|it| it.log.push_str(line)).is_some()
}
