//! One change on its way: the moves that a journal speaks of, and what undoes them.

use std::io;

use cap_std::fs::Dir;

use super::beneath::{self, Found};
use super::decide::{self, From, Is, Seen, Undo};
use super::journal::{self, Action, Journal};
use super::lock_file::Prepared;
use super::staging::{REPLACED, StagingDirectory, TREE};
use super::{Guard, Lock, Observer, PluginError, Step};

/// A change that is about to be made.
pub(super) struct Change<'a> {
    /// The right to make it.
    pub(super) guard: &'a Guard<'a>,
    /// What it is.
    pub(super) journal: Journal,
    /// The staging directory that the journal names.
    pub(super) staging: StagingDirectory,
    /// What the lock file says now.
    pub(super) before: Lock,
    /// What sees the steps.
    pub(super) observer: &'a dyn Observer,
    /// Whether the file system is asked to exchange two directories in one step.
    pub(super) exchanges: bool,
}

impl Change<'_> {
    /// Makes it. After an error all is as it was, unless the error says otherwise.
    pub(super) fn make(mut self) -> Result<(), PluginError> {
        let (plugins, name) = (self.guard.plugins(), self.journal.name.clone());
        let lock = self.journal.apply(&self.before);
        // What a full disk forbids comes first: after the journal there are only renames.
        let prepared = Prepared::new(plugins, &lock)?;
        journal::store(self.guard.dir(), &self.journal)
            .map_err(|error| PluginError::io(plugins.path(), error))?;
        self.observer.step(&Step::Journalled(&name));
        if let Err(error) = self.exchange(prepared) {
            return Err(self.undo(error));
        }
        self.observer.step(&Step::Locked(&name));
        // The change is made. What cannot be cleaned up now, the next command does, and says so.
        if let Err(error) = journal::remove(self.guard.dir()) {
            tracing::warn!(plugin = %name, %error, "the journal of a change that is done stays behind");
            self.staging.keep();
            return Ok(());
        }
        self.observer.step(&Step::Settled(&name));
        if let Err(error) = self.staging.remove() {
            tracing::warn!(path = %self.staging.path().display(), %error, "a staging directory stays behind");
        }
        self.observer.step(&Step::Cleaned(&name));
        Ok(())
    }

    fn exchange(&self, prepared: Prepared<'_>) -> Result<(), PluginError> {
        self.rename().map_err(|error| {
            PluginError::io(self.guard.plugins().path().join(self.journal.name.dir()), error)
        })?;
        self.observer.step(&Step::Exchanged(&self.journal.name));
        prepared.commit()
    }

    fn rename(&self) -> io::Result<()> {
        let (plugins, staging, dir) = (self.guard.dir(), self.staging.dir(), self.journal.name.dir());
        let (name, tree) = ((plugins, dir.as_str()), (staging, TREE));
        match self.journal.action {
            Action::Install { .. } => beneath::move_to(tree, name)?,
            Action::Remove { .. } => beneath::move_to(name, tree)?,
            Action::Replace { .. } if self.exchanges && beneath::exchange(name, tree)? => {}
            Action::Replace { .. } => {
                beneath::move_to(name, (staging, REPLACED))?;
                // On the disk before the next: else a crash of the machine could leave both without a name.
                self.sync()?;
                self.observer.step(&Step::Withdrawn(&self.journal.name));
                beneath::move_to(tree, name)?;
            }
        }
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        beneath::sync(self.staging.dir())?;
        beneath::sync(self.guard.dir())
    }

    /// Takes everything back, and returns the error with what the user has to know.
    fn undo(&mut self, error: PluginError) -> PluginError {
        match self.put_back() {
            Ok(()) => error,
            Err(second) => {
                self.staging.keep();
                error.hint(format!(
                    "the change is half made ({second}): any `hookbox plugin` command that changes plugins sees to it"
                ))
            }
        }
    }

    fn put_back(&self) -> Result<(), PluginError> {
        let (plugins, staging, dir) = (self.guard.dir(), self.staging.dir(), self.journal.name.dir());
        let (name, tree) = ((plugins, dir.as_str()), (staging, TREE));
        let wrong = |error: io::Error| PluginError::io(self.guard.plugins().path().join(&dir), error);
        // At most two moves bring everything back.
        for _ in 0..=2 {
            let seen = look(plugins, Some(staging), &self.journal).map_err(wrong)?;
            match decide::undo(&self.journal.action, seen) {
                Undo::Nothing => break,
                Undo::Withdraw => beneath::move_to(name, tree),
                Undo::Restore(From::Tree) => beneath::move_to(tree, name),
                Undo::Restore(From::Replaced) => beneath::move_to((staging, REPLACED), name),
                Undo::Exchange => beneath::exchange(name, tree).and_then(|done| match done {
                    true => Ok(()),
                    false => Err(io::ErrorKind::Unsupported.into()),
                }),
                Undo::Impossible => Err(io::Error::other("something else stands there now")),
            }
            .map_err(wrong)?;
        }
        self.sync().map_err(wrong)?;
        // One that cannot be read is none that was just written.
        if self.guard.plugins().lock().is_ok_and(|now| now != self.before) {
            Prepared::new(self.guard.plugins(), &self.before)?.commit()?;
        }
        journal::remove(plugins).map_err(wrong)
    }
}

/// What is there of a change; without a staging directory there is nothing in it.
pub(super) fn look(plugins: &Dir, staging: Option<&Dir>, journal: &Journal) -> io::Result<Seen> {
    let (new, old) = match journal.action {
        Action::Install { new, .. } => (Some(new), None),
        Action::Replace { new, old, .. } => (Some(new), Some(old)),
        Action::Remove { old } => (None, Some(old)),
    };
    let is = |dir: &Dir, name: &str| {
        Ok::<_, io::Error>(match beneath::look(dir, name)? {
            None => Is::Nothing,
            Some(Found::Directory(inode)) if Some(inode) == new => Is::New,
            Some(Found::Directory(inode)) if Some(inode) == old => Is::Old,
            Some(_) => Is::Other,
        })
    };
    let staged = |name: &str| staging.map_or(Ok(Is::Nothing), |dir| is(dir, name));
    Ok(Seen { name: is(plugins, &journal.name.dir())?, tree: staged(TREE)?, replaced: staged(REPLACED)? })
}
