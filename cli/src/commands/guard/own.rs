//! The guards of a user: their places, their settings, and the `git` that they ask.

use std::env;
use std::path::{Path, PathBuf};

use hookbox::trust::PrivateFileErrorKind;
use hookbox::{discovery, escape, shown_path};
use hookbox_guards::{GUARDS, Guard, GuardsError, GuardsErrorKind, Preset, SettingsFile, Shelf, Status};
use hookbox_system::files::{private_dir, program};

use crate::error::{InputError, hint, note, warn};
use crate::options;

/// The places of a user's guards.
#[derive(Debug)]
pub(crate) struct Own {
    pub(super) shelf: Shelf,
    /// The root in the home directory.
    root: PathBuf,
    home: PathBuf,
    /// The private data directory.
    pub(super) data: PathBuf,
}

impl Own {
    /// Finds the places, and makes nothing.
    pub(crate) fn find(locate: &options::Locate) -> Result<Self, InputError> {
        let options = locate.discovery()?;
        let hint = "set HOME to a directory of your own";
        let none = || InputError::refused("expected a home directory, found none", hint);
        let home = options.home.clone().ok_or_else(none)?;
        let data = private_dir::default_data(Some(&home)).ok_or_else(none)?;
        let root = home.join(options.roots.first().map_or(".hookbox", String::as_str));
        Ok(Self { shelf: Shelf::new(&root, &data), root, home, data })
    }

    /// Makes the private data directory, for a change.
    pub(crate) fn open(self, locate: &options::Locate) -> Result<Self, InputError> {
        let repository = discovery::repository(&locate.discovery()?);
        let data = private_dir::open(&self.data, repository.as_deref()).map_err(|error| {
            let hint = "set HOME or XDG_DATA_HOME to a directory of your own, outside the repository";
            InputError::refused(error.to_string(), hint)
        })?;
        Ok(Self { shelf: Shelf::new(&self.root, &data), data, ..self })
    }

    pub(crate) fn status(&self, guard: &Guard) -> anyhow::Result<Status> {
        self.shelf.status(guard).map_err(explained)
    }

    /// Returns the guards that have a file in their place.
    pub(crate) fn present(&self) -> anyhow::Result<Vec<&'static Guard>> {
        let mut present = Vec::new();
        for guard in &GUARDS {
            if self.status(guard)? != Status::Missing {
                present.push(guard);
            }
        }
        Ok(present)
    }

    /// Returns these guards, each of which the user must have; without names, those that the user has.
    pub(super) fn chosen(&self, names: &[&'static Guard]) -> anyhow::Result<Vec<&'static Guard>> {
        let present = self.present()?;
        if present.is_empty() {
            return Err(InputError::new("you have none of the guards", "hookbox guard add --all").into());
        }
        let is_there = |guard: &Guard| present.iter().any(|it| it.name == guard.name);
        if let Some(guard) = names.iter().find(|guard| !is_there(guard)) {
            let what = format!("{}: you do not have this guard", guard.name);
            return Err(InputError::new(what, format!("hookbox guard add {}", guard.name)).into());
        }
        Ok(if names.is_empty() { present } else { names.to_vec() })
    }

    pub(crate) fn settings(&self) -> anyhow::Result<SettingsFile> {
        SettingsFile::read(&self.root).map_err(explained)
    }

    /// Returns the path of a guard.
    pub(super) fn path(&self, guard: &Guard) -> PathBuf {
        self.shelf.path(guard)
    }

    /// Returns the directory of the guards, to be shown.
    pub(crate) fn directory(&self) -> String {
        self.shown(self.shelf.directory())
    }

    /// Returns a path relative to the home directory, as a record of trust has it.
    pub(super) fn below_home<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.home).ok()
    }

    /// Returns a path to be shown: below `~`, if it is in the home directory.
    pub(super) fn shown(&self, path: &Path) -> String {
        let short = path.strip_prefix(&self.home).map(|rest| Path::new("~").join(rest));
        shown_path(short.as_deref().unwrap_or(path))
    }
}

/// Returns the preset that a guard has with these settings, as a word.
pub(super) fn preset_of(settings: &SettingsFile, guard: &Guard) -> String {
    settings.preset(guard).map_or_else(|| Preset::default().to_string(), |text| escape(&text, 40))
}

/// Adds the next step to an error.
pub(crate) fn explained(error: GuardsError) -> anyhow::Error {
    let path = shown_path(&error.path);
    let hint = match &error.kind {
        GuardsErrorKind::Settings(_) => "correct the file".to_owned(),
        GuardsErrorKind::Changed | GuardsErrorKind::Inventory(PrivateFileErrorKind::Locked(_)) => {
            "run the command again".to_owned()
        }
        GuardsErrorKind::Inventory(
            PrivateFileErrorKind::Garbage { .. } | PrivateFileErrorKind::Version(_),
        ) => {
            format!("move it aside: mv {path} {path}.old")
        }
        _ => "check that the directory and its files are yours".to_owned(),
    };
    InputError::refused(error.to_string(), hint).into()
}

/// Writes the `git` of the user's `PATH` into the user's settings, by its real path, if guards have no other: no event searches
/// `PATH`. Warns if there is none that only root can change.
pub(crate) fn fix_git(locate: &options::Locate) -> anyhow::Result<()> {
    let own = Own::find(locate)?;
    let mut settings = own.settings()?;
    if program::git(settings.git()).is_some() {
        return Ok(());
    }
    let found = program::on_path("git", &env::var_os("PATH").unwrap_or_default());
    let Some(path) = found.as_deref().and_then(Path::to_str) else {
        warn_of_no_git();
        return Ok(());
    };
    settings.set_git(path).map_err(explained)?;
    settings.write().map_err(explained)?;
    note(format_args!("guards ask {} for the state of a repository", escape(path, 4096)));
    Ok(())
}

/// Warns that guards cannot know the state of a repository.
pub(crate) fn warn_of_no_git() {
    warn("there is no git that only root can change: guards take every work tree as changed");
    hint("install git for the system, such as in /usr/bin, and run `hookbox install` again");
}
