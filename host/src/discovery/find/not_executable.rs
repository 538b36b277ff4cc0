//! Files that may be meant as hooks: scripts without an execute bit, and rules with nearly the right name.

use std::path::PathBuf;

use super::candidate::HooksDir;
use crate::discovery::problem::Problem;
use crate::rules::{ENDING, is_nearly_rules};
use hookbox_system::files::{EntryKind, FileAccess};
use hookbox_system::text;

/// Reports a file with nearly the name of a rules file, and a script of the user's own that only lacks an execute bit: it may be a guard. Other files may lie
/// beside hooks, and those of a repository or a plugin are not the user's to mend.
pub(super) fn not_executable(dir: &HooksDir, path: PathBuf, kind: EntryKind) -> Option<Problem> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    if matches!(kind, EntryKind::File { .. }) && is_nearly_rules(&name) {
        let message = format!("does not run: the name of a rules file ends in {ENDING}");
        return Some(Problem::new(path, message).hint("rename it, or remove it"));
    }
    let is_own = matches!(dir.access, FileAccess::Global) && dir.plugin.is_none();
    let is_script = is_own && matches!(kind, EntryKind::File { .. }) && dir.access.is_script(&path);
    is_script.then(|| {
        let shown = text::escape(&text::shell_word(&path.to_string_lossy()), 4096);
        Problem::new(path, "is a script without an execute bit: it does not run")
            .hint(format!("run `chmod +x {shown}`, or rename it to end in .disable"))
    })
}
