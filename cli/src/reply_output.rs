//! The reply to an agent, on standard output.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;

use hookbox_agents::agent::Reply;
use hookbox_system::text;

/// Writes the reply. If a block cannot be written, it becomes exit code 2 with the reason on standard error,
/// which every agent understands.
pub(crate) fn print(reply: &Reply) -> u8 {
    let mut out = io::stdout().lock();
    let stdout = text::escape_json(&reply.stdout);
    let written = out.write_all(stdout.as_bytes()).and_then(|()| out.flush());
    let unheard = (written.is_err() || leads_nowhere()).then(|| reply.clone().unheard());
    let reply = unheard.as_ref().unwrap_or(reply);
    let _ = io::stderr().write_all(reply.stderr.as_bytes());
    reply.exit_code
}

/// Returns true if nobody reads standard output. If it was closed, it is `/dev/null`.
pub(crate) fn leads_nowhere() -> bool {
    let about = io::stdout().as_fd().try_clone_to_owned().and_then(|out| File::from(out).metadata());
    let nowhere = std::fs::metadata("/dev/null");
    matches!((about, nowhere), (Ok(about), Ok(nowhere)) if about.rdev() == nowhere.rdev() && about.rdev() != 0)
}
