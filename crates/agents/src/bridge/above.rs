//! The signs that an agent, and not a human, is about to change its own guards.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use super::{parents, sessions};
use crate::text;

/// The directories for temporary files.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// The variables of an agent's process with directories of its user.
const OWN: [&str; 4] = ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"];

/// A sign that an agent is at work, in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sign {
    /// An agent runs this process, on whatever terminal.
    Above(String),
    /// An agent has a session open here. It may run this process, or its user does on another terminal.
    Beside(String),
}

impl fmt::Display for Sign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Above(sign) | Self::Beside(sign)) = self;
        f.write_str(sign)
    }
}

/// Looks for a sign that an agent runs this process: a variable that an agent sets, a process above this one,
/// or a session that the bridge has open where this process works.
///
/// `data` is the private data directory. `changes` are the files and directories that are to be changed. If
/// all of them are temporary files, and none belongs to the user of the agent's process, there is nothing to
/// protect from an agent above. This is for tests that make a home directory of their own.
pub fn sign(directory: &Path, data: Option<&Path>, changes: &[PathBuf]) -> Option<Sign> {
    if let Some(sign) = agent(changes) {
        return Some(sign);
    }
    let session = sessions::open_at(data?, directory)?;
    let shown = text::escape(&session.directory.to_string_lossy(), 500);
    Some(Sign::Beside(format!("{} has a session open in {shown}, {}", session.title(), session.lasts())))
}

/// Looks for a sign that an agent runs this process, as [`sign`] does.
pub fn agent(changes: &[PathBuf]) -> Option<Sign> {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    if let Some((name, agent)) = parents::variable(is_set) {
        return Some(Sign::Above(format!("{agent} runs this ({name} is set)")));
    }
    let parents = parents::agents();
    let parent = parents.iter().find(|it| !is_scratch(changes, &it.process))?;
    let id = parent.process.id;
    Some(Sign::Above(format!("{} runs this (process {id})", parent.agent)))
}

/// Returns the agent that a process is, or that runs it, except as [`sign`] does.
pub(super) fn agent_over(process: u32, changes: &[PathBuf]) -> Option<&'static str> {
    let agents = parents::agents_from(process);
    agents.iter().find(|it| !is_scratch(changes, &it.process)).map(|it| it.agent)
}

/// Returns true if a path is below a directory for temporary files of this process.
pub fn is_temporary(path: &Path) -> bool {
    let own = std::env::var_os("TMPDIR").map(PathBuf::from);
    resolved(path).is_some_and(|path| temporary(own).iter().any(|it| is_in(&path, it)))
}

/// Returns the directories for temporary files, with this one.
fn temporary(own: Option<PathBuf>) -> Vec<PathBuf> {
    let own = own.filter(|it| it.is_absolute());
    TEMPORARY.iter().map(PathBuf::from).chain(own).filter_map(|it| resolved(&it)).collect()
}

fn is_in(path: &Path, directory: &Path) -> bool {
    path.starts_with(directory) && path != directory
}

/// Returns true if all of these are temporary files, and none belongs to the user of an agent's process.
fn is_scratch(changes: &[PathBuf], agent: &parents::Process) -> bool {
    let (Some(environment), Some(directory)) = (agent.environment(), agent.directory()) else { return false };
    let of = |name: &str| environment.get(OsStr::new(name)).map(PathBuf::from).filter(|it| it.is_absolute());
    let Some(home) = of("HOME") else { return false };
    let own = OWN.into_iter().filter_map(of).chain([home, directory]);
    let own: Vec<PathBuf> = own.filter_map(|it| resolved(&it)).collect();
    let temporary = temporary(of("TMPDIR"));
    let is_scratch = |path: &PathBuf, temporary: &PathBuf| {
        // An agent that works in `/` does not own all of it.
        let is_own = |own: &PathBuf| own.starts_with(temporary) && path.starts_with(own);
        is_in(path, temporary) && !own.iter().any(is_own)
    };
    let is_temporary = |path: &PathBuf| {
        resolved(path).is_some_and(|path| temporary.iter().any(|temporary| is_scratch(&path, temporary)))
    };
    !changes.is_empty() && changes.iter().all(is_temporary)
}

/// Returns a path without symlinks, also if its last part does not exist yet. `None` if that could change:
/// for a dangling symlink, and for `..` after a part that does not exist.
fn resolved(path: &Path) -> Option<PathBuf> {
    let there = path.ancestors().find(|it| it.symlink_metadata().is_ok())?;
    let rest = path.strip_prefix(there).ok()?;
    let is_plain = rest.components().all(|it| matches!(it, Component::Normal(_)));
    let there = there.canonicalize().ok().filter(|_| is_plain)?;
    Some(there.join(rest))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_leads_where_it_will_lead_once_it_exists() {
        let temp = tempfile::tempdir().unwrap();
        let at = |path: &str| temp.path().canonicalize().unwrap().join(path);
        std::fs::create_dir(at("real")).unwrap();
        symlink(at("real"), at("link")).unwrap();
        symlink(at("nowhere"), at("dangling")).unwrap();
        for (path, want) in [
            ("real", Some("real")),
            ("link/new/file", Some("real/new/file")),
            ("real/../real", Some("real")),
            ("new", Some("new")),
            ("new/../../x", None),
            ("dangling", None),
            ("dangling/x", None),
        ] {
            assert_eq!(resolved(&at(path)), want.map(at), "{path}");
        }
    }
}
