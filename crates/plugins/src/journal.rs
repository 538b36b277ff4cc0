//! The journal: what is about to change, written before it does, so that whatever a kill leaves can be told apart.
//!
//! It stands in the plugins directory, which a repository may have brought: every field is checked, and nothing that
//! it says leads out of that directory.

use cap_std::fs::Dir;
use serde::{Deserialize, Serialize};

use super::staging::StageName;
use super::{PluginName, beneath, lock_text};
use hookbox::internal::lockfile::{self, Lock, Locked, PENDING as FILE};
use hookbox::internal::text;

/// Its name while it is written.
pub(super) const NEW: &str = ".hookbox-pending.new";

/// The version of the format.
const VERSION: i64 = 1;

/// A journal beyond this size is none, in bytes: it holds one plugin of a lock file.
const MAX_FILE: u64 = 1 << 20;

/// What stands above everything else.
const HEAD: &str = "# A change of a plugin is under way. If it was cut short, the next `hookbox plugin` command sees to it.\n\n";

/// How many journals that cannot be used are kept.
const MAX_ASIDE: u32 = 100;

/// A change of one plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Journal {
    /// The plugin.
    pub(super) name: PluginName,
    /// The staging directory: `tree` in it is the plugin to be, and takes what is replaced or removed.
    pub(super) stage: StageName,
    /// What is done.
    pub(super) action: Action,
}

/// What is done with a plugin. Directories are named by their inodes, which a rename leaves as they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// It is new.
    Install {
        /// The directory that was staged.
        new: u64,
        /// What the lock file says then.
        locked: Box<Locked>,
    },
    /// Another one takes its place.
    Replace {
        /// The directory that was staged.
        new: u64,
        /// The directory that stood there.
        old: u64,
        /// What the lock file says then.
        locked: Box<Locked>,
    },
    /// It goes.
    Remove {
        /// The directory that stood there.
        old: u64,
    },
}

/// Why a journal cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JournalError {
    /// It was written by a program that knows more.
    Version(i64),
    /// It is something else.
    Garbage(String),
}

/// The wire.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    version: i64,
    action: Word,
    plugin: String,
    stage: String,
    /// In decimal digits: TOML has no number that holds every inode.
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<String>,
    /// The text of a lock file with this one plugin.
    #[serde(skip_serializing_if = "Option::is_none")]
    lock: Option<String>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Word {
    Install,
    Replace,
    Remove,
}

impl Journal {
    /// Reads the text of a journal.
    pub(super) fn parse(file: &[u8]) -> Result<Self, JournalError> {
        let garbage =
            |what: &dyn std::fmt::Display| JournalError::Garbage(text::escape(&what.to_string(), 300));
        let file = str::from_utf8(file).map_err(|error| garbage(&error))?;
        let version = lockfile::version(file).map_err(|error| garbage(&error.message()))?;
        if version != VERSION {
            return Err(JournalError::Version(version));
        }
        let wire: Wire = toml::from_str(file).map_err(|error| garbage(&error.message()))?;
        let name: PluginName = wire.plugin.parse().map_err(|error| garbage(&format!("plugin: {error}")))?;
        let stage = StageName::new(&wire.stage)
            .ok_or_else(|| garbage(&"stage: is the name of no staging directory"))?;
        let inode = |text: String| {
            let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
            text.parse()
                .ok()
                .filter(|_| is_number)
                .ok_or_else(|| garbage(&"new, old: expected decimal digits"))
        };
        let action = match (wire.action, wire.new, wire.old, wire.lock) {
            (Word::Install, Some(new), None, Some(lock)) => {
                let locked = Box::new(only(&name, &lock).map_err(|what| garbage(&what))?);
                Action::Install { new: inode(new)?, locked }
            }
            (Word::Replace, Some(new), Some(old), Some(lock)) => {
                let locked = Box::new(only(&name, &lock).map_err(|what| garbage(&what))?);
                Action::Replace { new: inode(new)?, old: inode(old)?, locked }
            }
            (Word::Remove, None, Some(old), None) => Action::Remove { old: inode(old)? },
            _ => return Err(garbage(&"new, old, lock: too many or too few for this action")),
        };
        Ok(Self { name, stage, action })
    }

    /// The text of it. [`Journal::parse`] reads it back.
    pub(super) fn print(&self) -> Result<String, toml::ser::Error> {
        let (action, new, old, locked) = match &self.action {
            Action::Install { new, locked } => (Word::Install, Some(new), None, Some(locked)),
            Action::Replace { new, old, locked } => (Word::Replace, Some(new), Some(old), Some(locked)),
            Action::Remove { old } => (Word::Remove, None, Some(old), None),
        };
        let lock = locked.map(|locked| {
            let mut lock = Lock::default();
            lock.insert(Locked::clone(locked));
            lock_text::print(&lock)
        });
        let wire = Wire {
            version: VERSION,
            action,
            plugin: self.name.to_string(),
            stage: self.stage.as_str().to_owned(),
            new: new.map(u64::to_string),
            old: old.map(u64::to_string),
            lock: lock.transpose()?,
        };
        Ok(format!("{HEAD}{}", toml::to_string(&wire)?))
    }

    /// What the lock file says when this is done, where it says this before.
    pub(super) fn apply(&self, before: &Lock) -> Lock {
        let mut lock = before.clone();
        match &self.action {
            Action::Install { locked, .. } | Action::Replace { locked, .. } => {
                lock.insert(Locked::clone(locked))
            }
            Action::Remove { .. } => lock.remove(&self.name),
        };
        lock
    }
}

/// The one plugin that this lock file names.
fn only(name: &PluginName, lock: &str) -> Result<Locked, String> {
    let lock = Lock::parse(lock).map_err(|error| format!("lock: {error}"))?;
    let mut all = lock.iter();
    match (all.next(), all.next()) {
        (Some(one), None) if one.name == *name => Ok(one.clone()),
        _ => Err("lock: expected this one plugin".to_owned()),
    }
}

/// The journal of a plugins directory, if there is one.
pub(super) fn load(plugins: &Dir) -> std::io::Result<Option<Result<Journal, JournalError>>> {
    use std::io::ErrorKind::{InvalidData, InvalidInput};
    match beneath::read(plugins, FILE, MAX_FILE) {
        Ok(bytes) => Ok(bytes.map(|bytes| Journal::parse(&bytes))),
        // No file that hookbox wrote: a directory, a symlink, too many bytes.
        Err(error) if matches!(error.kind(), InvalidData | InvalidInput) => {
            Ok(Some(Err(JournalError::Garbage(error.to_string()))))
        }
        Err(error) => Err(error),
    }
}

/// Whether one is there, whatever it holds.
pub(super) fn is_there(plugins: &Dir) -> std::io::Result<bool> {
    Ok(beneath::look(plugins, FILE)?.is_some())
}

/// Writes a journal and puts it on the disk.
pub(super) fn store(plugins: &Dir, journal: &Journal) -> std::io::Result<()> {
    let text = journal.print().map_err(std::io::Error::other)?;
    let stored = beneath::write(plugins, NEW, text.as_bytes())
        .and_then(|()| beneath::replace(plugins, NEW, FILE))
        .and_then(|()| beneath::sync(plugins));
    if stored.is_err() {
        // Nothing has changed yet. The first error is the one to tell of.
        drop(beneath::unlink(plugins, NEW).and_then(|()| beneath::unlink(plugins, FILE)));
    }
    stored
}

/// Removes it: the change is done, or undone.
pub(super) fn remove(plugins: &Dir) -> std::io::Result<()> {
    beneath::unlink(plugins, FILE)?;
    beneath::sync(plugins)
}

/// Removes what a kill left of one that was being written.
pub(super) fn sweep(plugins: &Dir) -> std::io::Result<()> {
    beneath::unlink(plugins, NEW)
}

/// Gives one that cannot be used another name, which comes back.
pub(super) fn set_aside(plugins: &Dir) -> std::io::Result<String> {
    for number in 1..=MAX_ASIDE {
        let name = format!(".hookbox-pending-{number}.toml");
        match beneath::move_to((plugins, FILE), (plugins, &name)) {
            Ok(()) => return beneath::sync(plugins).map(|()| name),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(std::io::Error::other(format!("there are {MAX_ASIDE} .hookbox-pending-*.toml: remove them")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookbox::hook::Digest;

    fn locked(name: &str) -> Locked {
        Locked {
            name: name.parse().unwrap(),
            source: "https://example.org/a/b".to_owned(),
            reference: None,
            commit: Some("a".repeat(40)),
            manifest: None,
            tree: Digest::of(b"tree"),
            key: None,
            installed: "2026-01-31T12:00:00Z".to_owned(),
            hooks: Vec::new(),
        }
    }

    fn journals() -> Vec<Journal> {
        let locked = || Box::new(locked("a/b"));
        let actions = [
            Action::Install { new: 1, locked: locked() },
            Action::Replace { new: u64::MAX, old: 0, locked: locked() },
            Action::Remove { old: 7 },
        ];
        let of = |action| Journal {
            name: "a/b".parse().unwrap(),
            stage: StageName::new(".hookbox-stage-x1Y2").unwrap(),
            action,
        };
        actions.map(of).into()
    }

    #[test]
    fn a_journal_is_read_as_it_was_written() {
        for journal in journals() {
            let text = journal.print().unwrap();
            assert_eq!(Journal::parse(text.as_bytes()), Ok(journal), "{text}");
        }
    }

    #[test]
    fn a_change_is_made_to_the_lock_file_once_however_often_it_is_applied() {
        let other = locked("c/d");
        for before in [vec![], vec![Locked { installed: "2020-01-01T00:00:00Z".to_owned(), ..locked("a/b") }]]
        {
            let mut lock = Lock::default();
            for locked in before.into_iter().chain([other.clone()]) {
                lock.insert(locked);
            }
            for journal in journals() {
                let after = journal.apply(&lock);
                let is_removed = matches!(journal.action, Action::Remove { .. });
                let want = if is_removed { vec![other.clone()] } else { vec![locked("a/b"), other.clone()] };
                assert!(after.iter().eq(&want), "{journal:?}: {after:?}");
                assert_eq!(journal.apply(&after), after);
            }
        }
    }

    #[test]
    fn no_part_of_a_journal_is_taken_for_another_change() {
        for journal in journals() {
            let text = journal.print().unwrap();
            for end in 0..text.len() - 1 {
                if let Ok(other) = Journal::parse(&text.as_bytes()[..end]) {
                    assert_eq!(other, journal, "{end}");
                }
            }
            let mut zeros = text.clone().into_bytes();
            zeros[20..].fill(0);
            assert!(matches!(Journal::parse(&zeros), Err(JournalError::Garbage(_))));
        }
    }

    #[test]
    fn a_journal_says_nothing_but_what_hookbox_writes() {
        let [install, replace, remove]: [String; 3] =
            journals().iter().map(|it| it.print().unwrap()).collect::<Vec<_>>().try_into().unwrap();
        let stage = ".hookbox-stage-x1Y2";
        for (text, from, to) in [
            (&install, "\"a/b\"", "\"../b\""),
            (&install, "\"a/b\"", "\"a/../../b\""),
            (&install, "\"a/b\"", "\"c/d\""),
            (&install, "plugin = \"a/b\"", "plugin = \"a/c\""),
            (&install, stage, "../stage"),
            (&install, stage, ".hookbox-stage-"),
            (&install, stage, ".hookbox-stage-../../x"),
            (&install, stage, ".hookbox-stage-a/b"),
            (&install, stage, "org@repo"),
            (&install, "new = \"1\"", "new = \"-1\""),
            (&install, "new = \"1\"", "new = \"+1\""),
            (&install, "new = \"1\"", "new = \"\""),
            (&install, "new = \"1\"", "new = \"18446744073709551616\""),
            (&install, "new = \"1\"", "new = 1"),
            (&install, "new = \"1\"\n", ""),
            (&install, "\"install\"", "\"replace\""),
            (&install, "\"install\"", "\"remove\""),
            (&install, "\"install\"", "\"destroy\""),
            (&replace, "old = \"0\"\n", ""),
            (&replace, "\"replace\"", "\"install\""),
            (&remove, "\"remove\"", "\"install\""),
            (&remove, "old = \"7\"", "old = \"7\"\nmore = 1"),
            (&remove, "version = 1", "version = \"1\""),
        ] {
            assert!(text.contains(from), "{from}: {text}");
            let changed = text.replacen(from, to, 1);
            assert!(matches!(Journal::parse(changed.as_bytes()), Err(JournalError::Garbage(_))), "{changed}");
        }
        for text in ["", "garbage", "\0\0\0\0", "version = 1", "[]", "action = \"remove\""] {
            assert!(matches!(Journal::parse(text.as_bytes()), Err(JournalError::Garbage(_))), "{text}");
        }
        assert!(matches!(Journal::parse(b"\xff"), Err(JournalError::Garbage(_))));
        let newer = remove.replace("version = 1", "version = 2\nmore = 1");
        assert_eq!(Journal::parse(newer.as_bytes()), Err(JournalError::Version(2)));
    }

    #[test]
    fn what_is_set_aside_keeps_its_bytes_and_takes_no_name_twice() {
        let temp = tempfile::tempdir().unwrap();
        let dir = Dir::open_ambient_dir(temp.path(), cap_std::ambient_authority()).unwrap();
        for text in ["one", "two"] {
            dir.write(FILE, text).unwrap();
            assert!(matches!(load(&dir).unwrap(), Some(Err(JournalError::Garbage(_)))));
            let name = set_aside(&dir).unwrap();
            assert_eq!(dir.read_to_string(name).unwrap(), text);
        }
        dir.create_dir(FILE).unwrap();
        assert!(matches!(load(&dir).unwrap(), Some(Err(JournalError::Garbage(_)))));
        set_aside(&dir).unwrap();
        assert!(load(&dir).unwrap().is_none() && !is_there(&dir).unwrap());
    }
}
