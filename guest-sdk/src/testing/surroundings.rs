//! The settings and the state of the hook that this thread tests.

use std::cell::RefCell;
use std::fs::DirBuilder;
use std::path::PathBuf;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;

thread_local! {
    static CURRENT: RefCell<Option<Surroundings>> = const { RefCell::new(None) };
}

struct Surroundings {
    settings: Vec<(String, String)>,
    data: PathBuf,
}

/// Makes surroundings for this thread; they last as long as this value.
pub(super) struct Entered(PathBuf);

impl Entered {
    pub(super) fn new(settings: Vec<(String, String)>) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let data = std::env::temp_dir().join(format!("hookbox-event-{}-{number}", process::id()));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        // Not an existing directory: another user may have made it.
        builder.create(&data).map_err(|error| Error::from(error).within(data.display()))?;
        CURRENT.set(Some(Surroundings { settings, data: data.clone() }));
        Ok(Self(data))
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(None);
        // A failure leaves a small directory among the temporary files.
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// Returns the settings, if this thread tests a hook.
pub(crate) fn settings() -> Option<Vec<(String, String)>> {
    CURRENT.with_borrow(|current| current.as_ref().map(|it| it.settings.clone()))
}

/// Returns the directory of the hook's data, if this thread tests a hook.
pub(crate) fn data() -> Option<PathBuf> {
    CURRENT.with_borrow(|current| current.as_ref().map(|it| it.data.clone()))
}
