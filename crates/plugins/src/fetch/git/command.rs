//! How git is called: with the user's own settings, and with nothing that would make it work on something else.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::{Command, Stdio};

/// Variables that would make git work on another repository than ours, or in another way: those that git sets for its
/// hooks (`git rev-parse --local-env-vars`, without those of the user's settings), and some more.
pub(super) const REMOVED: [&str; 21] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "GIT_CEILING_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_DEFAULT_HASH",
    "GIT_DIR",
    "GIT_GRAFT_FILE",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_NAMESPACE",
    "GIT_NO_REPLACE_OBJECTS",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_REF_FORMAT",
    "GIT_REPLACE_REF_BASE",
    "GIT_SHALLOW_FILE",
    "GIT_TEMPLATE_DIR",
    "GIT_WORK_TREE",
];

/// Settings that go before the user's. What a fetched repository brings is data: no hook, no monitor, no maintenance
/// and no submodule of it is run. Objects have to be well-formed.
const SETTINGS: [&str; 17] = [
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
    // One file, whose size can be watched, and that holds large files as they came.
    "fetch.unpackLimit=1",
    // What is larger goes through memory in parts.
    "core.bigFileThreshold=32m",
    // Each thread has some large objects at hand, and a cache of so much; all of them share the bound of memory.
    "pack.threads=4",
    "core.deltaBaseCacheLimit=64m",
    // A line that is dead is given up. A server that only counts says more than this about it.
    "http.lowSpeedLimit=10",
    "http.lowSpeedTime=60",
    "transfer.fsckObjects=true",
    "fetch.fsckObjects=true",
];

/// What makes an object no less well-formed for us (git-fsck(1)): names and modes in trees are judged by the rules for
/// plugins, which say which path is wrong.
const IGNORED: [&str; 22] = [
    "hasDot",
    "hasDotdot",
    "hasDotgit",
    "fullPathname",
    "duplicateEntries",
    "zeroPaddedFilemode",
    "badFilemode",
    "largePathname",
    "nullSha1",
    "treeNotSorted",
    // Old programs wrote odd names and dates into commits, which nobody reads here.
    "badDate",
    "badDateOverflow",
    "badEmail",
    "badName",
    "badTimezone",
    "missingEmail",
    "missingNameBeforeEmail",
    "missingSpaceBeforeDate",
    "missingSpaceBeforeEmail",
    "missingTaggerEntry",
    "zeroPaddedDate",
    "badTagName",
];

/// This git, to work on this repository.
pub(super) fn command<S: AsRef<OsStr>>(
    mut command: Command,
    dir: &Path,
    args: impl IntoIterator<Item = S>,
) -> Command {
    for name in REMOVED {
        command.env_remove(name);
    }
    // Messages are read; they are not translated then.
    command.env("LC_ALL", "C").env_remove("LANGUAGE");
    // What is listed is the commit, and what is missing in it is not fetched behind our back.
    command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1");
    if !io::stdin().is_terminal() {
        // Nobody is there to answer, and a question of ssh on the terminal would stand there for ever. The user's own
        // helpers are still asked.
        command.env("GIT_TERMINAL_PROMPT", "0");
        let is_missing = |name| std::env::var_os(name).is_none();
        if is_missing("SSH_ASKPASS") {
            command.env("SSH_ASKPASS", "false");
        }
        if is_missing("SSH_ASKPASS_REQUIRE") {
            command.env("SSH_ASKPASS_REQUIRE", "force");
        }
    }
    // It goes before the settings, so that those two would have no say.
    if let Some(allowed) = std::env::var_os("GIT_ALLOW_PROTOCOL") {
        let allowed = allowed.to_string_lossy().into_owned();
        let allowed: Vec<&str> = allowed.split(':').filter(|it| !matches!(*it, "ext" | "fd")).collect();
        command.env("GIT_ALLOW_PROTOCOL", allowed.join(":"));
    }
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    for id in IGNORED {
        command.arg("-c").arg(format!("fetch.fsck.{id}=ignore"));
    }
    // Not the directory of this process: no settings of a repository that the user stands in.
    command.arg("--git-dir").arg(dir).current_dir(dir.parent().unwrap_or(dir));
    command.args(args).stderr(Stdio::piped());
    command
}
