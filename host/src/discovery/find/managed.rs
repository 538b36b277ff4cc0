//! The administrator's hooks: above all others, and not for users and repositories to weaken.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Options;
use super::files::Files;
use super::roots::HooksDir;
use super::scan::Scan;
use super::settings::{self, GlobalSettings};
use crate::discovery::Problem;
use crate::hook::{Digest, Origin};
use crate::lockfile::{self, InstalledFiles, Lock};
use crate::trust::tree_digest::{MAX_FILES, of_plugin};
use hookbox_system::files::{FileAccess, SystemFiles};
use hookbox_system::{limits, text};

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

/// The administrator's rules for plugins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginPolicy {
    /// The sources of the administrator's own plugins, each with its exact state.
    pub pinned: Vec<String>,
    sources: Option<Vec<String>>,
    digests: Option<Vec<String>>,
}

impl PluginPolicy {
    pub(super) fn of(top: &settings::Top) -> Self {
        let pinned = top.pinned_plugins.clone().unwrap_or_default();
        Self { pinned, sources: top.plugin_sources.clone(), digests: top.plugin_digests.clone() }
    }

    /// Reads it. Without a settings file, all plugins are allowed.
    ///
    /// # Errors
    ///
    /// The problem of a file that cannot be used.
    pub fn read(managed: &ManagedDir) -> Result<Self, Problem> {
        let mut files = Files::default();
        let top = files.settings(&managed.access(), &managed.settings_file()).top;
        match files.problems.into_iter().find(|it| it.hides) {
            Some(problem) => Err(problem),
            None => Ok(Self::of(&top)),
        }
    }

    /// Returns the reason why users and repositories may not have the plugin of this source and this digest, as far as these
    /// are known.
    pub fn refusal(&self, source: Option<&str>, digest: Option<&Digest>) -> Option<String> {
        let is_within = |source: &str, allowed: &str| {
            let allowed = allowed.trim_end_matches('/');
            // Not behind a host, which a port would make another one.
            let is_artifact = allowed.strip_prefix("oci://").is_some_and(|it| it.contains('/'));
            // `..` would lead out of it again.
            let is_odd = source.contains("..") || source.contains(['%', '\\']);
            source.strip_prefix(allowed).is_some_and(|rest| {
                let is_revision = is_artifact && rest.starts_with([':', '@']);
                rest.is_empty() || !is_odd && (is_revision || rest.starts_with('/'))
            })
        };
        let is_listed = |source: &str| self.sources.iter().flatten().any(|it| is_within(source, it));
        let is_known = |digest: &Digest| self.digests.iter().flatten().any(|it| *it == digest.to_string());
        match (source, digest) {
            (Some(source), _) if self.sources.is_some() && !is_listed(source) => {
                Some(format!("the administrator does not allow plugins from {}", text::escape(source, 300)))
            }
            (_, Some(digest)) if self.digests.is_some() && !is_known(digest) => {
                Some(format!("the administrator does not allow a plugin with the digest {digest}"))
            }
            _ => None,
        }
    }

    /// Returns the reason why the plugin of this directory may not run. What a lock file says of its source is only as good
    /// as its owner; a digest is that of the files.
    fn refusal_of(&self, dir: &HooksDir) -> Option<String> {
        dir.plugin.as_ref().filter(|_| self.sources.is_some() || self.digests.is_some())?;
        let lock = dir.base.ancestors().nth(2).map(|root| root.join(lockfile::FILE));
        let read = lock.and_then(|it| dir.access.read_if_exists(&it, lockfile::MAX_FILE)?.ok());
        let lock = read.and_then(|bytes| Lock::from_bytes(&bytes).ok()).unwrap_or_default();
        let source = lock.of_directory(&dir.plugin_dir).map_or("an unknown source", |it| it.source.as_str());
        let digest = self.digests.as_ref().map(|_| {
            of_plugin(&dir.base, InstalledFiles::default(), MAX_FILES, MAX_PLUGIN)
                .map_err(|error| error.to_string())
        });
        match digest.transpose() {
            Ok(digest) => self.refusal(Some(source), digest.as_ref()),
            Err(error) => Some(error),
        }
    }
}

/// The most bytes of a plugin whose digest is checked at each search.
const MAX_PLUGIN: u64 = 64 << 20;

/// Leaves out the plugins of users and repositories that the administrator does not allow, and reports each.
pub(super) fn refuse_plugins(scans: &mut [Scan], policy: &PluginPolicy) {
    for scan in scans {
        let mut refused: BTreeMap<PathBuf, Option<String>> = BTreeMap::new();
        scan.candidates.retain(|it| {
            let is_theirs = it.dir.tier.origin() != Origin::Managed;
            let why = || policy.refusal_of(&it.dir).filter(|_| is_theirs);
            it.dir.plugin.is_none() || refused.entry(it.dir.base.clone()).or_insert_with(why).is_none()
        });
        let problem = |(path, why): (PathBuf, Option<String>)| {
            Some(Problem::new(path, format!("its hooks do not run: {}", why?)).hint("ask your administrator"))
        };
        scan.files.problems.extend(refused.into_iter().filter_map(problem));
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
            let required = text::shown_path(&managed.path.join(REQUIRED));
            let message = format!("does not exist, and {required} says that it must");
            self.files.problems.push(Problem::new(file, message).hiding(&access));
        }
    }
}

/// Leaves out all hooks but the administrator's, if the settings or the caller want that, and reports it.
pub(super) fn keep_only(scans: &mut [Scan], global: &GlobalSettings, options: &Options) {
    let is_switched_off = global.switched_off.is_some() && !options.examine_switched_off;
    if !is_switched_off && global.only_managed.is_none() {
        return;
    }
    let (mut has_kept, mut others) = (false, BTreeSet::new());
    for scan in scans.iter_mut() {
        scan.only_managed = true;
        scan.roots.retain(|it| it.origin == Origin::Managed);
        let (kept, left_out): (Vec<_>, Vec<_>) = std::mem::take(&mut scan.candidates)
            .into_iter()
            .partition(|it| it.dir.tier.origin() == Origin::Managed);
        has_kept |= !kept.is_empty();
        scan.candidates = kept;
        others.extend(left_out.iter().map(|it| text::escape(&it.name, 80)));
    }
    let message = match &global.only_managed {
        Some(_) if others.is_empty() => return,
        Some(_) => {
            let names: Vec<_> = others.into_iter().take(limits::NAMED).collect();
            format!("only_managed is true: these hooks do not run: {}", names.join(", "))
        }
        None if !has_kept => return,
        None => "its hooks run all the same: nobody else can switch them off".to_owned(),
    };
    if let Some((managed, nearest)) = options.managed.as_ref().zip(scans.last_mut()) {
        nearest.files.problems.push(Problem::new(managed.settings_file(), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_allowed_as_a_whole_or_below_one_that_is() {
        for (allowed, source, want) in [
            ("https://git.example.com", "https://git.example.com/org/tools", true),
            ("https://git.example.com/org/", "https://git.example.com/org/tools", true),
            ("https://git.example.com/org/tools", "https://git.example.com/org/tools", true),
            ("https://git.example.com/org/tool", "https://git.example.com/org/tools", false),
            ("https://git.example.com", "https://git.example.com.evil.org/org/tools", false),
            ("https://git.example.com", "https://git.example.com@evil.org/org/tools", false),
            ("https://git.example.com", "https://git.example.com:8443/org/tools", false),
            ("https://git.example.com/org", "https://git.example.com/org/../evil/tools", false),
            ("https://git.example.com/org", "https://git.example.com/org/%2e%2e/evil/tools", false),
            ("git@git.example.com:org", "git@git.example.com:org/tools", true),
            ("oci://r.example.com/org/tools", "oci://r.example.com/org/tools:1", true),
            ("oci://r.example.com/org/tools", "oci://r.example.com/org/tools@sha256:00", true),
            ("oci://r.example.com/org/tools", "oci://r.example.com/org/tools2:1", false),
            ("oci://r.example.com", "oci://r.example.com:5000/org/tools:1", false),
            ("./tools", "./tools", true),
            ("", "https://git.example.com/org/tools", false),
        ] {
            let policy = PluginPolicy { sources: Some(vec![allowed.to_owned()]), ..PluginPolicy::default() };
            assert_eq!(policy.refusal(Some(source), None).is_none(), want, "{allowed} {source}");
        }
    }
}
