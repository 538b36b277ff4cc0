//! The program `git` that guards ask for the state of a repository.

use std::env;
use std::path::Path;

use hookbox::escape;
use hookbox_system::files::program;

use super::own::{Own, explained};
use crate::error::{hint, note, warn};
use crate::options;

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
