//! Limits on the number and the size of what a discovery reads.

use std::path::Path;

use crate::discovery::problem::Problem;

/// The number of candidates of one directory, and of plugins of one root. Hundreds of hooks in a directory are a
/// mistake, or an attack: each one is asked for its events.
pub(crate) const MAX_CANDIDATES: usize = 256;

/// The number of candidates of a repository, over all its hooks directories and plugins. Each one is examined, listed
/// and reported.
pub(crate) const MAX_OF_REPOSITORY: usize = 512;

/// The number of names of a repository that are read. Otherwise many plugins that link to the same full directory
/// would cost the repository nothing.
pub(super) const MAX_NAMES: usize = 65_536;

/// The number of bytes of declarations of a repository that are read, over all its files.
pub(super) const MAX_DECLARED: usize = 4 << 20;

/// The used part of a repository's limits.
#[derive(Default)]
pub(super) struct Usage {
    /// The names that were read.
    pub(super) names: usize,
    /// The candidates that were taken.
    pub(super) taken: usize,
    /// The candidates beyond the limit.
    pub(super) left_out: usize,
    /// The bytes of declarations that were read.
    pub(super) declared: usize,
    /// The files with declarations that were not read.
    pub(super) unread: usize,
}

impl Usage {
    /// Takes one more candidate, if there is room for it.
    pub(super) fn take(&mut self) -> bool {
        let has_room = self.taken < MAX_OF_REPOSITORY;
        *(if has_room { &mut self.taken } else { &mut self.left_out }) += 1;
        has_room
    }

    /// Returns a problem for each limit that this repository reached.
    pub(super) fn problems(&self, repo: &Path) -> Vec<Problem> {
        let Self { names, left_out, unread, .. } = *self;
        let declared = (unread > 0).then(|| {
            let max = MAX_DECLARED >> 20;
            format!("declares hooks in more than {max} MiB: {unread} files that declare hooks were not read")
        });
        let candidates = (left_out > 0).then(|| {
            let max = MAX_OF_REPOSITORY;
            format!("has more than {max} hooks: only the first {max} are used, and {left_out} are left out")
        });
        let names = (names > MAX_NAMES).then(|| {
            format!("has more than {MAX_NAMES} files in directories of hooks: the others were not read")
        });
        let messages = [declared, candidates, names].into_iter().flatten();
        messages.map(|message| Problem::new(repo, message)).collect()
    }
}
