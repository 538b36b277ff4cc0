//! The files that the commands of a plugin run.

use std::path::{Path, PathBuf};

use super::PluginHook;
use crate::{Contents, PluginError, PluginErrorKind};
use hookbox::escape;
use hookbox::manager::Problem;
use hookbox_system::files::{self, EntryKind, FileAccess};
use hookbox_system::text;

/// The endings that programs add to the name of a script.
const ENDINGS: [&str; 4] = ["js", "mjs", "cjs", "ts"];

/// A file that a command of a plugin runs, and that is not in the plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFile {
    /// The name of the hook in the plugin.
    pub hook: String,
    /// The path, as the command writes it.
    pub path: PathBuf,
}

impl Contents {
    /// Checks that the files that its commands run are in the plugin: otherwise a guard could not start.
    pub(super) fn check_command_files(&self, shown: &str) -> Result<(), PluginError> {
        let Some(MissingFile { hook, path }) = self.missing.first() else { return Ok(()) };
        let more = match self.missing.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more)"),
        };
        let (hook, path) = (escape(hook, 200), text::shown_path(path));
        let what = format!("its hook {hook} runs {path}, which is not a file of the plugin{more}");
        Err(PluginError {
            what: shown.to_owned(),
            kind: PluginErrorKind::Unexpected(what),
            hint: Some(
                "nothing of the plugin was installed; its author has to add the file (git may ignore it) or to \
                 correct hooks/hooks.json"
                    .into(),
            ),
        })
    }
}

/// Adds the files of commands that are missing, and a problem for each program that cannot start.
pub(super) fn check(
    dir: &Path,
    hooks: &[PluginHook],
    missing: &mut Vec<MissingFile>,
    problems: &mut Vec<Problem>,
) {
    let Ok(access) = FileAccess::repository(dir) else { return };
    let mut warned = Vec::new();
    for hook in hooks {
        for file in &hook.files {
            let path = files::normalize_path(&dir.join(&file.path));
            let is_inside = path.starts_with(dir);
            match access.entry_kind(&path) {
                Ok(EntryKind::File { executable: false, .. }) if is_inside && file.is_program => {
                    if !warned.contains(&path) {
                        problems.push(not_executable(&hook.name, path.strip_prefix(dir).unwrap_or(&path)));
                        warned.push(path);
                    }
                }
                Ok(EntryKind::File { .. }) if is_inside => {}
                // Python and Node.js run directories.
                Ok(EntryKind::Directory) if is_inside && !file.is_program => {}
                _ if is_inside && !file.is_program && is_completed(&access, &path) => {}
                _ => missing.push(MissingFile { hook: hook.name.clone(), path: file.path.clone() }),
            }
        }
    }
}

fn is_completed(access: &FileAccess, path: &Path) -> bool {
    let is_file = |path: PathBuf| matches!(access.entry_kind(&path), Ok(EntryKind::File { .. }));
    path.extension().is_none() && ENDINGS.iter().any(|ending| is_file(path.with_extension(ending)))
}

fn not_executable(hook: &str, path: &Path) -> Problem {
    let shown = text::escape(&text::shell_word(&path.to_string_lossy()), 300);
    let message = format!("has no execute bit, so {} cannot start it", escape(hook, 200));
    let hint = format!("its author has to run `chmod +x {shown}`, or to name an interpreter in hooks.json");
    Problem { hint: Some(hint.into()), ..Problem::new(path, message) }
}
