//! The environment and the settings of git: those of the user, without any that lead git to another
//! repository.

use std::io::{self, IsTerminal as _};
use std::path::Path;
use std::process::Command;

/// Variables that make git work on another repository or in another way: those that git sets for its hooks
/// (`git rev-parse --local-env-vars`, without those of the user's settings), and some more.
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

/// Settings that override the user's. A fetched repository is data: none of its hooks, monitors and
/// submodules runs, and no maintenance.
const SETTINGS: [&str; 15] = [
    "protocol.ext.allow=never",
    "protocol.fd.allow=never",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "maintenance.auto=false",
    // One pack, so that the limit of one file holds for all of the fetch.
    "fetch.unpackLimit=1",
    // Larger files go through memory in parts.
    "core.bigFileThreshold=32m",
    // Each thread keeps some large objects and such a cache in memory; all of them share the limit of memory.
    "pack.threads=4",
    "core.deltaBaseCacheLimit=64m",
    // A dead connection is given up. A server that only reports progress sends more than this.
    "http.lowSpeedLimit=10",
    "http.lowSpeedTime=60",
];

/// Sets up a command that runs git on the bare repository `dir` with these arguments.
pub(super) fn configure(command: &mut Command, dir: &Path, args: &[&str]) {
    for name in REMOVED {
        command.env_remove(name);
    }
    // Some messages are read here, so they must not be translated.
    command.env("LC_ALL", "C").env_remove("LANGUAGE");
    // The tree of the commit itself is listed, and nothing missing in it is fetched later.
    command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1");
    if !io::stdin().is_terminal() {
        // Nobody can answer, and a question of ssh on the terminal would wait for ever. The user's own
        // helpers still run.
        command.env("GIT_TERMINAL_PROMPT", "0");
        let is_missing = |name| std::env::var_os(name).is_none();
        if is_missing("SSH_ASKPASS") {
            command.env("SSH_ASKPASS", "false");
        }
        if is_missing("SSH_ASKPASS_REQUIRE") {
            command.env("SSH_ASKPASS_REQUIRE", "force");
        }
    }
    // This variable overrides the settings that forbid these two.
    if let Some(allowed) = std::env::var_os("GIT_ALLOW_PROTOCOL") {
        let allowed = allowed.to_string_lossy().into_owned();
        let allowed: Vec<&str> = allowed.split(':').filter(|it| !matches!(*it, "ext" | "fd")).collect();
        command.env("GIT_ALLOW_PROTOCOL", allowed.join(":"));
    }
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    // Not in a repository of the user, whose settings would apply.
    command.arg("--git-dir").arg(dir).current_dir(dir.parent().unwrap_or(dir));
    command.args(args);
}
