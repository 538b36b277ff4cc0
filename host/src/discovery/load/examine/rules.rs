//! Examines a rules file.

use std::io::{self, Read as _};

use super::{Examined, Job, Ready, unreadable};
use crate::discovery::load::blocking;
use crate::hook::{Cause, Digest, HookError};
use crate::rules::{MAX_FILE, Rules};

/// Reads a rules file, and checks its examples.
pub(super) async fn examine(job: Job, here: bool) -> Examined {
    let read = move || -> io::Result<Examined> {
        // One byte more than it may have: the policy at the beginning of a file that is too large still counts.
        let mut bytes = Vec::new();
        job.access.open(&job.path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
        let digest = Some(Digest::of(&bytes)).filter(|_| bytes.len() as u64 <= MAX_FILE);
        Ok(match Rules::read(&bytes) {
            Ok(rules) => Examined::new(digest, Ok(Ready::Rules(Box::new(rules)))),
            Err(error) => {
                let failure = HookError::new(Cause::Incompatible, error.to_string());
                Examined { policy: error.on_failure, ..Examined::new(digest, Err(failure)) }
            }
        })
    };
    let examined = blocking(here, read).await.map_err(io::Error::other);
    examined.and_then(|it| it).unwrap_or_else(|error| Examined::failed(unreadable(&error)))
}
