//! Reads case files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use toml::Spanned;

use crate::{Error, Event, OnFailure};

/// The largest case file, in bytes, as in `hookbox test`.
const MAX_FILE: u64 = 1 << 20;

/// The largest number of times that a hook gets the event of a case.
const MAX_TIMES: u32 = 100;

/// The causes of a failure that a run without the sandbox finds.
pub(super) const CAUSES: [&str; 3] = ["denied", "exit", "trap"];

/// One case.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    pub(super) line: usize,
    /// The key that only `hookbox test` can honor.
    pub(super) needs_sandbox: Option<String>,
    pub(super) event: Event,
    pub(super) data: Map<String, Value>,
    pub(super) times: u32,
    pub(super) settings: Map<String, Value>,
    pub(super) on_failure: Option<OnFailure>,
    pub(super) grants: Vec<String>,
    pub(super) store: BTreeMap<String, Value>,
    pub(super) expect: Option<Expect>,
}

/// The decision on an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Verdict {
    #[default]
    Pass,
    Block,
    Ask,
    Allow,
}

/// The answer that must come.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Expect {
    pub(super) verdict: Verdict,
    pub(super) reason: Option<String>,
    pub(super) input: Option<Value>,
    pub(super) output: Option<Value>,
    pub(super) message: Option<Value>,
    pub(super) error: Option<Value>,
    pub(super) changed: Option<bool>,
    pub(super) context: Option<Vec<String>>,
    pub(super) warnings: Option<Vec<String>>,
    pub(super) follow_ups: Option<Vec<String>>,
    pub(super) callback: Option<String>,
    pub(super) log: Option<String>,
    pub(super) store: BTreeMap<String, Value>,
    pub(super) failure: Option<String>,
    files: Option<IgnoredAny>,
    fuel: Option<IgnoredAny>,
    memory: Option<IgnoredAny>,
    requests: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileWire {
    // The hook of a run is a type.
    #[serde(rename = "hook")]
    _hook: Option<IgnoredAny>,
    #[serde(default)]
    case: Vec<Spanned<CaseWire>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseWire {
    name: String,
    event: Option<String>,
    command: Option<String>,
    data: Option<Map<String, Value>>,
    times: Option<u32>,
    #[serde(default)]
    settings: Map<String, Value>,
    on_failure: Option<Policy>,
    #[serde(default)]
    grants: Vec<String>,
    #[serde(default)]
    store: BTreeMap<String, Value>,
    expect: Option<Expect>,
    before: Option<IgnoredAny>,
    clock: Option<IgnoredAny>,
    environment: Option<IgnoredAny>,
    every: Option<IgnoredAny>,
    files: Option<IgnoredAny>,
    http: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Policy {
    Pass,
    Block,
}

/// Reads the cases of a file.
pub(super) fn read(path: &Path) -> Result<Vec<Case>, Error> {
    let mut text = String::new();
    let opened = File::open(path).and_then(|file| file.take(MAX_FILE + 1).read_to_string(&mut text));
    opened.map_err(|error| Error::from(error).within(path.display()))?;
    if text.len() as u64 > MAX_FILE {
        return Err(Error::new(format!("{}: has more than {MAX_FILE} bytes", path.display())));
    }
    let cases = parse(&text).map_err(|error| error.within(path.display()))?;
    if cases.is_empty() { Err(Error::new(format!("{}: has no cases", path.display()))) } else { Ok(cases) }
}

/// Reads the text of a case file.
pub(super) fn parse(text: &str) -> Result<Vec<Case>, Error> {
    let line_of = |at: usize| text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1;
    let file: FileWire = toml::from_str(text).map_err(|error: toml::de::Error| {
        let line = line_of(error.span().unwrap_or_default().start);
        Error::new(format!("line {line}: {}", error.message()))
    })?;
    let mut names = BTreeSet::new();
    let mut cases = Vec::new();
    for case in file.case {
        let line = line_of(case.span().start);
        let case = case.into_inner();
        if !names.insert(case.name.clone()) {
            return Err(Error::new(format!("line {line}: a second case has the name {:?}", case.name)));
        }
        cases.push(judge(case, line).map_err(|error| error.within(format_args!("line {line}")))?);
    }
    Ok(cases)
}

fn judge(case: CaseWire, line: usize) -> Result<Case, Error> {
    let needs_sandbox = needs_sandbox(&case);
    let event = match (&case.event, &case.command) {
        (Some(event), _) => Event::named(event),
        (None, Some(_)) => Event::BeforeToolCall,
        (None, None) => return Err(Error::new("a case needs an event; add `command` or `event`")),
    };
    let data = match (case.command, case.data) {
        (Some(_), Some(_)) => return Err(Error::new("a case has a command or data, not both")),
        (Some(command), None) => {
            let call = json!({"tool_name": "bash", "tool_input": {"command": command}});
            call.as_object().cloned().unwrap_or_default()
        }
        (None, data) => data.unwrap_or_default(),
    };
    let times = case.times.unwrap_or(1);
    if !(1..=MAX_TIMES).contains(&times) {
        return Err(Error::new(format!("times is a number from 1 to {MAX_TIMES}")));
    }
    Ok(Case {
        name: case.name,
        line,
        needs_sandbox,
        event,
        data,
        times,
        settings: case.settings,
        on_failure: case.on_failure.map(|policy| match policy {
            Policy::Pass => OnFailure::Pass,
            Policy::Block => OnFailure::Block,
        }),
        grants: case.grants,
        store: case.store,
        expect: case.expect,
    })
}

/// Returns the first key that this harness cannot honor.
fn needs_sandbox(case: &CaseWire) -> Option<String> {
    let expect = case.expect.as_ref();
    let keys = [
        ("before", case.before.is_some()),
        ("clock", case.clock.is_some()),
        ("environment", case.environment.is_some()),
        ("every", case.every.is_some()),
        ("files", case.files.is_some()),
        ("http", case.http.is_some()),
        ("expect.files", expect.is_some_and(|it| it.files.is_some())),
        ("expect.fuel", expect.is_some_and(|it| it.fuel.is_some())),
        ("expect.memory", expect.is_some_and(|it| it.memory.is_some())),
        ("expect.requests", expect.is_some_and(|it| it.requests.is_some())),
        // The envelope of the Base Coat specification. `hook` is also a field of kodelet's `on_error`.
        ("data.hook", case.data.as_ref().is_some_and(|it| it.contains_key("hook")) && !is_error(case)),
    ];
    let key = keys.into_iter().find(|(_, is_there)| *is_there).map(|(key, _)| key.to_owned());
    let grant = || case.grants.iter().find(|it| !matches!(it.as_str(), "store" | "conversation" | "allow"));
    let cause = || expect?.failure.as_ref().filter(|cause| !CAUSES.contains(&cause.as_str()));
    key.or_else(|| grant().map(|grant| format!("grants: {grant}")))
        .or_else(|| cause().map(|cause| format!("expect.failure: {cause}")))
}

fn is_error(case: &CaseWire) -> bool {
    case.event.as_ref().is_some_and(|event| Event::named(event) == Event::OnError)
}
