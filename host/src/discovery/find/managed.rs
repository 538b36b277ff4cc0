//! The administrator's hooks: above all others, and not for users and repositories to weaken.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Options;
use super::scan::Scan;
use super::settings::{self, GlobalSettings};
use crate::discovery::Problem;
use crate::hook::Origin;
use hookbox_system::files::{FileAccess, SystemFiles};
use hookbox_system::text;

/// The directory of the administrator's hooks: `hookbox.toml`, `hooks/` and `plugins/`.
#[derive(Clone, Debug)]
pub struct ManagedDir {
    /// The directory.
    pub path: PathBuf,
    /// The rule for it and its files.
    pub files: Arc<SystemFiles>,
}

/// The file in it that says that no tool may run without the policy.
const REQUIRED: &str = "required";

impl ManagedDir {
    /// Returns the directory of this system: `/etc/hookbox`; on macOS `/Library/Application Support/hookbox`.
    pub fn of_system() -> Self {
        let path =
            if cfg!(target_os = "macos") { "/Library/Application Support/hookbox" } else { "/etc/hookbox" };
        Self { path: path.into(), files: Arc::new(SystemFiles { top: "/".into(), owner: 0 }) }
    }

    /// Returns true if something is there, usable or not.
    pub(crate) fn exists(&self) -> bool {
        is_there(&self.path)
    }

    /// Returns true if no tool may run without the policy. A file that cannot be seen counts as one that is there.
    pub fn is_required(&self) -> bool {
        is_there(&self.path.join(REQUIRED))
    }

    /// Returns the settings file.
    pub fn settings_file(&self) -> PathBuf {
        self.path.join(settings::FILE)
    }

    /// Returns the rule for its files.
    pub fn access(&self) -> FileAccess {
        FileAccess::System(Arc::clone(&self.files))
    }

    /// Returns the reason why the policy is not in force, if it has to be. Others than the administrator cannot cause it.
    pub(in crate::discovery) fn fault<'p>(&self, problems: &'p [Problem]) -> Option<&'p Problem> {
        let mut faults = problems.iter().filter(|it| it.hides && it.path.starts_with(&self.path));
        faults.next().filter(|_| self.is_required())
    }
}

fn is_there(path: &Path) -> bool {
    !matches!(path.symlink_metadata(), Err(error) if error.kind() == ErrorKind::NotFound)
}

impl Scan {
    /// Searches the administrator's directory.
    pub(super) fn managed(&mut self, managed: &ManagedDir) {
        let (access, file) = (managed.access(), managed.settings_file());
        let (Some(base), Some(name)) = (managed.path.parent(), managed.path.file_name()) else { return };
        let name = name.to_string_lossy().into_owned();
        self.tiers(&access, Origin::Managed, base, &[name], &[]);
        if managed.is_required() && !is_there(&file) {
            let required = text::escape(&managed.path.join(REQUIRED).to_string_lossy(), 4096);
            let message = format!("does not exist, and {required} says that it must");
            self.files.problems.push(Problem::new(file, message).hiding(&access));
        }
    }
}

/// Leaves out all hooks but the administrator's, if the settings or the caller want that, and reports it.
pub(super) fn keep_only(scans: &mut [Scan], global: &GlobalSettings, options: &Options) {
    let why = match (&global.switched_off, &global.only_managed) {
        (_, Some(_)) => "only_managed is true".to_owned(),
        (Some(why), _) if !options.examine_switched_off => why.to_string(),
        _ => return,
    };
    let (mut kept, mut others) = (0, BTreeSet::new());
    for scan in scans.iter_mut() {
        scan.only_managed = true;
        scan.roots.retain(|it| it.origin == Origin::Managed);
        scan.candidates.retain(|it| {
            let is_kept = it.dir.tier.origin() == Origin::Managed;
            if is_kept {
                kept += 1
            } else {
                others.extend([text::escape(&it.name, 80)])
            };
            is_kept
        });
    }
    let Some(managed) = options.managed.as_ref().filter(|_| kept > 0 || global.only_managed.is_some()) else {
        return;
    };
    if let (Some(nearest), false) = (scans.last_mut(), others.is_empty()) {
        let names: Vec<_> = others.into_iter().take(20).collect();
        let message = format!("{why}: the administrator's hooks run, and these do not: {}", names.join(", "));
        nearest.files.problems.push(Problem::new(managed.settings_file(), message));
    }
}
