//! A case: an event, and the surroundings in which the hook gets it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use hookbox::capability::Capability;
use hookbox::{EventName, OnFailure};
use serde_json::{Map, Value};

use super::expect::{Content, Expect};
use super::replies::Reply;

/// A file with cases.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseFile {
    /// The file.
    pub path: PathBuf,
    /// The hook, relative to the directory of the hook, if the file names it.
    pub hook: Option<PathBuf>,
    /// The cases, in their order.
    pub cases: Vec<Case>,
}

/// One case.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// The name, unique in the file.
    pub name: String,
    /// The line of the case in the file.
    pub line: usize,
    /// The event.
    pub event: EventName,
    /// The data of the event: kodelet's fields, or Base Coat's envelope.
    pub data: Map<String, Value>,
    /// The events that the hook gets first, in the same session.
    pub before: Vec<Earlier>,
    /// The number of times that the hook gets the event. The last answer counts.
    pub times: u32,
    /// The time between one event and the next.
    pub every: Option<Duration>,
    /// The settings of the hook.
    pub settings: Map<String, Value>,
    /// The policy for its failures, instead of its own.
    pub on_failure: Option<OnFailure>,
    /// The rights that it has.
    pub grants: Vec<Capability>,
    /// The files before: of the working directory, below `$HOME/`, and below `$DATA/`.
    pub files: BTreeMap<String, String>,
    /// The environment variables, beside `PATH` and those of the temporary directories.
    pub environment: BTreeMap<String, String>,
    /// The state of the hook before.
    pub store: BTreeMap<String, Content>,
    /// The answers to the requests of a component, which never reach the network.
    pub http: Vec<Reply>,
    /// The time of the first event, and of the clock of a component, in milliseconds since 1970 (default: now).
    pub clock: Option<u64>,
    /// The answer that must come. `None` if the file does not have it yet.
    pub expect: Option<Expect>,
}

/// An event before that of the case.
#[derive(Clone, Debug, PartialEq)]
pub struct Earlier {
    /// The event.
    pub event: EventName,
    /// The data of the event.
    pub data: Map<String, Value>,
}
