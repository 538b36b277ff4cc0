//! Allowances: what the user lets through although a guard blocks it. They are kept in `allowances.json` in the private data
//! directory, beside the trust file.

use std::fs::File;
use std::io::{self, Read as _};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Code;
use super::private_file::{Contents, PrivateFile, PrivateFileError, Version};
use crate::event::{Document, now_ms, rfc3339};
use crate::hook::{Cause, Digest};
use hookbox_system::{limits, text};

/// The longest wait for another process during an event: the agent waits as well.
const PATIENCE: Duration = Duration::from_secs(2);

/// The time in which a code can be used, in milliseconds.
pub(crate) const PENDING: u64 = 10 * 60 * 1000;

/// The time in which a blocked call is not noted again, in milliseconds.
const FRESH: u64 = 60 * 1000;

/// The time in which a call that was allowed once has to come, in milliseconds: the user still knows of it.
pub(crate) const ONCE: u64 = 60 * 60 * 1000;

/// The longest time that a call can be allowed for, in milliseconds. A longer one is `always`.
pub const LONGEST: u64 = 24 * 60 * 60 * 1000;

/// The number of blocked calls that are kept.
pub(crate) const MAX_PENDING: usize = 64;

/// The number of blocked calls of one session that are kept.
pub(crate) const MAX_OF_SESSION: usize = 32;

/// The number of allowances that are kept.
pub(crate) const MAX_GRANTED: usize = 256;

/// The longest input that gets a code, in bytes: the user has to read it whole.
pub(crate) const MAX_SHOWN: usize = 16 << 10;

/// A tool call that one guard blocked: all that an allowance can be bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockedCall {
    /// The name of the tool.
    pub tool: String,
    /// The digest of the input that the guard saw.
    pub input: Digest,
    /// The working directory of the agent.
    pub directory: String,
    /// The conversation, if it has an id.
    pub session: Option<String>,
    /// The agent, if it is known: two agents may have conversations of the same id.
    #[serde(default)]
    pub agent: Option<String>,
    /// The full name of the guard.
    pub guard: String,
    /// The digest of the guard. Only a guard that failed may be without one.
    pub digest: Option<Digest>,
    /// The cause, if the guard blocked because it failed.
    pub cause: Option<Cause>,
    /// True for a guard of the administrator's: it can be passed only once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub managed: bool,
}

impl BlockedCall {
    /// Returns the digest of an input: that of its JSON with sorted names and without spaces.
    pub fn digest_of(input: &Document) -> Digest {
        // The text has digits that the value does not have.
        if input.is_exact() {
            return Digest::of(input.text().as_bytes());
        }
        let mut text = String::new();
        write_sorted(input.value(), &mut text);
        Digest::of(text.as_bytes())
    }
}

fn write_sorted(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => {
            text.push('[');
            for item in items {
                write_sorted(item, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            text.push('{');
            for (name, value) in fields {
                text.push_str(&Value::String(name.clone()).to_string());
                text.push(':');
                write_sorted(value, text);
                text.push(',');
            }
            text.push('}');
        }
        other => text.push_str(&other.to_string()),
    }
}

/// The calls that an allowance lets through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Term {
    /// The next such call in the same session of the same agent, and in the same directory.
    Once,
    /// Each such call in the same session of the same agent, and in the same directory, for this time in milliseconds.
    For(u64),
    /// Each such call in the same directory, in any session.
    AlwaysHere,
    /// Each such call in any session and directory.
    Always,
}

impl Term {
    /// Returns the time that it counts for; `None` if it does not end.
    fn lifetime(self) -> Option<u64> {
        match self {
            Self::Once => Some(ONCE),
            Self::For(time) => Some(time),
            Self::AlwaysHere | Self::Always => None,
        }
    }
}

/// A blocked call that the user can allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// The code.
    pub code: Code,
    /// The call.
    pub call: BlockedCall,
    /// The input, as JSON. Not escaped.
    pub shown: String,
    /// The reason of the block. Not escaped.
    pub reason: String,
    /// The time of the block, in milliseconds since 1970.
    pub when_ms: u64,
}

impl Pending {
    /// Returns the time of the block, in RFC 3339.
    pub fn when(&self) -> String {
        rfc3339(self.when_ms)
    }

    /// Returns true if the code can be used now.
    pub fn counts(&self, now_ms: u64) -> bool {
        is_within(self.when_ms, PENDING, now_ms)
    }
}

/// A call that the user allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowance {
    /// The code, by which it is removed.
    pub code: Code,
    /// The calls that it is for.
    pub term: Term,
    /// The call.
    pub call: BlockedCall,
    /// The input, as JSON. Not escaped.
    pub shown: String,
    /// The time at which the user allowed it, in milliseconds since 1970.
    pub when_ms: u64,
}

impl Allowance {
    /// Returns true if it lets this call through now.
    pub fn covers(&self, call: &BlockedCall, now_ms: u64) -> bool {
        let BlockedCall { tool, input, directory, session, agent, guard, digest, cause, managed } =
            &self.call;
        let is_same = (tool, input, guard, digest, cause, managed)
            == (&call.tool, &call.input, &call.guard, &call.digest, &call.cause, &call.managed);
        if *managed && self.term != Term::Once {
            return false;
        }
        let is_here = *directory == call.directory;
        let is_placed = match self.term {
            Term::Once | Term::For(_) => is_here && (session, agent) == (&call.session, &call.agent),
            Term::AlwaysHere => is_here,
            Term::Always => true,
        };
        is_same && is_placed && self.counts(now_ms)
    }

    /// Returns the time at which the user allowed it, in RFC 3339.
    pub fn when(&self) -> String {
        rfc3339(self.when_ms)
    }

    /// Returns the time at which it ends, in RFC 3339; `None` if it does not end.
    pub fn until(&self) -> Option<String> {
        Some(rfc3339(self.when_ms.saturating_add(self.term.lifetime()?)))
    }

    /// Returns true if it has not ended.
    pub fn counts(&self, now_ms: u64) -> bool {
        self.term.lifetime().is_none_or(|lifetime| is_within(self.when_ms, lifetime, now_ms))
    }
}

/// Returns true if a time that began then has not ended. One that begins later has not begun: the clock was set back.
fn is_within(began: u64, lifetime: u64, now: u64) -> bool {
    now.checked_sub(began).is_some_and(|passed| passed < lifetime)
}

/// The reason why a call is not allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AllowError {
    /// No blocked call has the code, or its time is over.
    #[error("no blocked call has this code, or it is older than {} minutes", PENDING / 60_000)]
    UnknownCode,
    /// A guard that failed can be passed only once.
    #[error("the guard failed: the call can be allowed only once")]
    FailedGuard,
    /// The guard is the administrator's.
    #[error("the guard is the administrator's: the call can be allowed only once")]
    Managed,
    /// The time is zero or too long.
    #[error("expected a time of at most {} hours", LONGEST / 3_600_000)]
    Time,
    /// There are too many allowances.
    #[error("there are {MAX_GRANTED} allowances already")]
    Full,
}

/// The blocked calls that have a code, and the calls that the user allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowances {
    version: Version,
    /// The blocked calls, the oldest first.
    pub pending: Vec<Pending>,
    /// The allowed calls, the oldest first.
    pub granted: Vec<Allowance>,
}

impl Allowances {
    /// Removes everything whose time is over.
    pub fn prune(&mut self, now_ms: u64) {
        self.pending.retain(|it| it.counts(now_ms));
        self.granted.retain(|it| it.counts(now_ms));
    }

    /// Adds a blocked call, and returns its code. The same call keeps the code that it has, and its time begins anew,
    /// unless it was blocked a moment ago: an agent that tries again and again costs no writing.
    pub(crate) fn note(&mut self, mut pending: Pending) -> Code {
        self.prune(pending.when_ms);
        if let Some(at) = self.pending.iter().position(|it| it.call == pending.call) {
            let known = self.pending.remove(at);
            if is_within(known.when_ms, FRESH, pending.when_ms) {
                let code = known.code.clone();
                self.pending.insert(at, known);
                return code;
            }
            pending.code = known.code;
        }
        let code = pending.code.clone();
        self.pending.push(pending);
        while let Some(at) = self.surplus() {
            self.pending.remove(at);
        }
        code
    }

    /// Returns the blocked call that is too many: the oldest of a session with the most. So the blocks of one session push
    /// out no code of another one with fewer.
    fn surplus(&self) -> Option<usize> {
        let of_session =
            |it: &Pending| self.pending.iter().filter(|other| other.call.session == it.call.session).count();
        let most = self.pending.iter().map(of_session).max()?;
        let is_too_many = most > MAX_OF_SESSION || self.pending.len() > MAX_PENDING;
        self.pending.iter().position(|it| is_too_many && of_session(it) == most)
    }

    /// Returns true if a record has this code.
    pub(crate) fn has(&self, code: &Code) -> bool {
        self.find(code).is_some() | self.granted.iter().fold(false, |found, it| found | it.code.is(code))
    }

    /// Returns the blocked call with this code. Every code takes the same time.
    fn find(&self, code: &Code) -> Option<usize> {
        self.pending
            .iter()
            .enumerate()
            .fold(None, |found, (at, it)| if it.code.is(code) { Some(at) } else { found })
    }

    /// Returns the blocked call with this code, if it can still be allowed for this term.
    ///
    /// # Errors
    ///
    /// For an unknown code, one whose time is over, and a term that the call cannot have.
    pub fn allowable(&self, code: &Code, term: Term, now_ms: u64) -> Result<&Pending, AllowError> {
        let found = self.find(code).and_then(|at| self.pending.get(at)).filter(|it| it.counts(now_ms));
        let pending = found.ok_or(AllowError::UnknownCode)?;
        if pending.call.cause.is_some() && term != Term::Once {
            return Err(AllowError::FailedGuard);
        }
        if pending.call.managed && term != Term::Once {
            return Err(AllowError::Managed);
        }
        if matches!(term, Term::For(time) if time == 0 || time > LONGEST) {
            return Err(AllowError::Time);
        }
        Ok(pending)
    }

    /// Allows the blocked call with this code. The code is used up.
    ///
    /// # Errors
    ///
    /// As for [`Allowances::allowable`], and if there are too many allowances.
    pub fn grant(&mut self, code: &Code, term: Term, now_ms: u64) -> Result<Allowance, AllowError> {
        let Pending { code, call, shown, .. } = self.allowable(code, term, now_ms)?.clone();
        self.prune(now_ms);
        if self.granted.len() >= MAX_GRANTED {
            return Err(AllowError::Full);
        }
        self.pending.retain(|it| it.call != call);
        let allowance = Allowance { code, term, call, shown, when_ms: now_ms };
        self.granted.push(allowance.clone());
        Ok(allowance)
    }

    /// Removes the allowance with this code, and returns it.
    pub fn remove(&mut self, code: &Code) -> Option<Allowance> {
        let at = self.granted.iter().position(|it| it.code.is(code))?;
        Some(self.granted.remove(at))
    }

    /// Returns the allowance for this call: one that is not used up, if there is one.
    pub fn covering(&self, call: &BlockedCall, now_ms: u64) -> Option<&Allowance> {
        let mut all = self.granted.iter().filter(|it| it.covers(call, now_ms));
        all.clone().find(|it| it.term != Term::Once).or_else(|| all.next())
    }

    /// Uses the allowances for all of these calls: removes those that were for once. Returns their terms, or `None` and
    /// changes nothing if a call is not allowed (any more).
    pub(crate) fn take(&mut self, calls: &[BlockedCall], now_ms: u64) -> Option<Vec<Term>> {
        let mut left = self.clone();
        let mut terms = Vec::new();
        for call in calls {
            let Allowance { code, term, .. } = left.covering(call, now_ms)?.clone();
            if term == Term::Once {
                left.remove(&code);
            }
            terms.push(term);
        }
        *self = left;
        Some(terms)
    }
}

/// The file of allowances of a private data directory. If it cannot be read, nothing is allowed.
pub type AllowanceFile = PrivateFile<Allowances>;

impl Contents for Allowances {
    const FILE: &'static str = "allowances.json";
    const TITLE: &'static str = "allowances";
}

impl AllowanceFile {
    /// Adds a call that was blocked now for this reason, and returns its code. `shown` is its input; `None` if that is longer
    /// than a user can read.
    pub(crate) fn note(
        &self,
        call: BlockedCall,
        shown: &str,
        reason: &str,
    ) -> Result<Option<Code>, PrivateFileError> {
        if shown.len() > MAX_SHOWN {
            return Ok(None);
        }
        let (shown, reason) = (shown.to_owned(), text::prefix(reason, limits::MESSAGE).to_owned());
        self.try_update(PATIENCE, |all| {
            let random = || random().map_err(|error| self.error(error));
            let mut code = random()?;
            while all.has(&code) {
                code = random()?;
            }
            Ok(Some(all.note(Pending { code, call, shown, reason, when_ms: now_ms() })))
        })
    }

    /// Uses the allowances for all of these calls, in one step. `None` if one of them is not allowed any more.
    pub(crate) fn take(&self, calls: &[BlockedCall]) -> Result<Option<Vec<Term>>, PrivateFileError> {
        self.try_update(PATIENCE, |all| Ok(all.take(calls, now_ms())))
    }
}

/// Draws a code from the system's random numbers.
fn random() -> io::Result<Code> {
    let mut bytes = [0; 8];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Code::from_random(bytes))
}

#[cfg(test)]
#[path = "allowance_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "allowance_file_tests.rs"]
mod file_tests;
