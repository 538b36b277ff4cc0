//! Reads case files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hookbox::capability::Capability;
use hookbox::dialect::Dialect;
use hookbox::{Context, EventName, OnFailure};
use hookbox_system::units::parse_duration;
use hookbox_system::{limits, text};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use toml::Spanned;

use super::case::{Case, CaseFile, Content, Data, Earlier, Expect};
use super::error::{CaseError, CaseErrorKind};
use super::place::{PATH_HINT, split};
use super::replies::Reply;

/// The largest number of times that a hook gets the event of a case.
const MAX_TIMES: u32 = 100;

/// A case file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileWire {
    hook: Option<PathBuf>,
    #[serde(default)]
    case: Vec<Spanned<CaseWire>>,
}

/// A case as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseWire {
    name: Spanned<String>,
    event: Option<Spanned<String>>,
    command: Option<String>,
    data: Option<Spanned<Data>>,
    #[serde(default)]
    before: Vec<Spanned<EventWire>>,
    times: Option<Spanned<u32>>,
    every: Option<Spanned<String>>,
    #[serde(default)]
    settings: Map<String, Value>,
    on_failure: Option<OnFailure>,
    #[serde(default)]
    grants: Vec<Capability>,
    #[serde(default)]
    files: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    environment: BTreeMap<String, String>,
    #[serde(default)]
    store: BTreeMap<String, Content>,
    #[serde(default)]
    http: Vec<Spanned<Reply>>,
    clock: Option<Spanned<toml::value::Datetime>>,
    expect: Option<Expect>,
}

/// An event as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventWire {
    event: Option<Spanned<String>>,
    command: Option<String>,
    data: Option<Spanned<Data>>,
}

/// A fault with its place in the text.
#[derive(Debug)]
pub(super) struct Fault {
    at: Range<usize>,
    message: String,
    hint: Option<String>,
}

impl Fault {
    fn new(at: Range<usize>, message: impl Into<String>) -> Self {
        Self { at, message: message.into(), hint: None }
    }

    fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    fn meant(self, nearest: Option<&str>) -> Self {
        Self { hint: text::did_you_mean(nearest), ..self }
    }
}

impl CaseFile {
    /// Reads a case file.
    ///
    /// # Errors
    ///
    /// [`CaseError`] for the first fault: nothing of a file is skipped.
    pub fn read(path: &Path) -> Result<Self, CaseError> {
        let text = read_text(path).map_err(|error| CaseErrorKind::Io(error).at(path))?;
        let (hook, cases) = parse(&text).map_err(|fault| {
            let line = line_of(&text, fault.at.start);
            CaseErrorKind::Fault { line: Some(line), message: fault.message, hint: fault.hint }.at(path)
        })?;
        if cases.is_empty() {
            return Err(CaseErrorKind::no_cases().at(path));
        }
        Ok(Self { path: path.to_owned(), hook, cases })
    }
}

/// Reads a text of at most [`limits::FILE`] bytes.
fn read_text(path: &Path) -> io::Result<String> {
    let wrong = |message: String| io::Error::new(io::ErrorKind::InvalidData, message);
    // To open a pipe would wait for a writer.
    if !fs::metadata(path)?.is_file() {
        return Err(wrong("is not a file".to_owned()));
    }
    let mut text = Vec::new();
    File::open(path)?.take(limits::FILE + 1).read_to_end(&mut text)?;
    if text.len() as u64 > limits::FILE {
        return Err(wrong(format!("has more than {} bytes", limits::FILE)));
    }
    String::from_utf8(text).map_err(|_| wrong("is not UTF-8".to_owned()))
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

/// Reads the text of a case file: the hook that it names, and its cases.
pub(super) fn parse(text: &str) -> Result<(Option<PathBuf>, Vec<Case>), Fault> {
    let file: FileWire = toml::from_str(text).map_err(broken)?;
    let mut names = BTreeSet::new();
    let mut cases = Vec::new();
    for case in file.case {
        let line = line_of(text, case.span().start);
        let case = case.into_inner();
        if !names.insert(case.name.get_ref().clone()) {
            let shown = text::escape(case.name.get_ref(), 80);
            return Err(Fault::new(case.name.span(), format!("a second case has the name {shown:?}")));
        }
        cases.push(read_case(case, line)?);
    }
    Ok((file.hook, cases))
}

/// Turns an error of the reader of TOML into a fault, with the key that was meant. It names the key, and those that it
/// knows: unknown field `comand`, expected one of `command`, `data`.
fn broken(error: toml::de::Error) -> Fault {
    let at = error.span().unwrap_or_default();
    let mut names = error.message().split('`').skip(1).step_by(2);
    match names.next().filter(|_| error.message().starts_with("unknown field ")) {
        None => Fault::new(at, error.message()),
        Some(name) => Fault::new(at, format!("there is no key {:?} here", text::escape(name, 80)))
            .meant(text::nearest(name, names)),
    }
}

fn read_case(case: CaseWire, line: usize) -> Result<Case, Fault> {
    let at = case.name.span();
    let given = EventWire { event: case.event, command: case.command, data: case.data };
    let (event, data) = read_event(given, &at)?;
    let mut before = Vec::new();
    for earlier in case.before {
        let at = earlier.span();
        let (event, data) = read_event(earlier.into_inner(), &at)?;
        before.push(Earlier { event, data });
    }
    let mut files = BTreeMap::new();
    for (path, content) in case.files {
        check_path(&path, content.span())?;
        files.insert(path, content.into_inner());
    }
    if let Some(reply) = case.http.iter().find(|reply| !reply.get_ref().is_valid()) {
        let fault = Fault::new(reply.span(), "an answer cannot be used");
        return Err(
            fault.hint("write { request = \"GET https://example.com/\", status = 200, body = \"…\" }")
        );
    }
    let times = match case.times {
        None => 1,
        Some(times) if (1..=MAX_TIMES).contains(times.get_ref()) => times.into_inner(),
        Some(times) => {
            return Err(Fault::new(times.span(), format!("times is a number from 1 to {MAX_TIMES}")));
        }
    };
    let every = case.every.map(|every| read_every(&every, times, &before)).transpose()?;
    let clock = case.clock.map(|clock| milliseconds(&clock)).transpose()?;
    if let Some(name) = case.environment.keys().find(|name| !is_variable(name)) {
        return Err(Fault::new(
            at,
            format!("{:?} cannot be an environment variable", text::escape(name, 80)),
        ));
    }
    case.expect.iter().flat_map(|it| it.files.keys()).try_for_each(|path| check_path(path, at.clone()))?;
    Ok(Case {
        name: case.name.into_inner(),
        line,
        event,
        data,
        before,
        times,
        every,
        settings: case.settings,
        on_failure: case.on_failure,
        grants: case.grants,
        files,
        environment: case.environment,
        store: case.store,
        http: case.http.into_iter().map(Spanned::into_inner).collect(),
        clock,
        expect: case.expect,
    })
}

/// Reads an event and its data.
fn read_event(given: EventWire, at: &Range<usize>) -> Result<(EventName, Data), Fault> {
    let event = match (&given.event, &given.command) {
        (Some(event), _) => event.get_ref().parse::<EventName>().map_err(|unknown| {
            let message = format!("{:?} is not the name of an event", text::escape(&unknown.name, 80));
            Fault::new(event.span(), message).meant(unknown.nearest)
        })?,
        (None, Some(_)) => EventName::BeforeToolCall,
        (None, None) => {
            let fault = Fault::new(at.clone(), "a case needs an event");
            return Err(fault.hint("add `command = \"…\"`, or `event = \"…\"` and a table `data`"));
        }
    };
    let data_at = given.data.as_ref().map_or_else(|| at.clone(), Spanned::span);
    let data = match (given.command, given.data) {
        (Some(_), Some(data)) => {
            let fault = Fault::new(data.span(), "a case has a command or data, not both");
            return Err(fault.hint("write the command as data.tool_input.command"));
        }
        (Some(command), None) => {
            let call = json!({ "tool_name": "bash", "tool_input": { "command": command } });
            call.as_object().cloned().unwrap_or_default()
        }
        (None, data) => data.map(Spanned::into_inner).unwrap_or_default(),
    };
    let at = data_at;
    let context = Context::new("case", "/");
    let decoded = Dialect::of(&event, &data).decode(&event, data.clone(), &context);
    let decoded = decoded.map_err(|error| Fault::new(at.clone(), format!("data: {error}")))?;
    if let Some(field) = decoded.unknown.first() {
        return Err(Fault::new(at, format!("data: {event} has no field {:?}", text::escape(field, 80))));
    }
    Ok((event, data))
}

/// Refuses a path that leads out of the directories of a case.
fn check_path(path: &str, at: Range<usize>) -> Result<(), Fault> {
    if split(path).is_some() {
        return Ok(());
    }
    let shown = text::escape(path, 200);
    Err(Fault::new(at, format!("{shown:?} is not the path of a file of a case")).hint(PATH_HINT))
}

/// Reads the time between the events of a case, of which there must be several.
fn read_every(every: &Spanned<String>, times: u32, before: &[Earlier]) -> Result<Duration, Fault> {
    if times == 1 && before.is_empty() {
        let fault = Fault::new(every.span(), "every is the time between events, and the case has one event");
        return Err(fault.hint("add `times = 2`, or a list `before`"));
    }
    parse_duration(every.get_ref()).map_err(|error| {
        Fault::new(
            every.span(),
            format!("every: expected {}, found {:?}", error.expected, text::escape(&error.found, 80)),
        )
    })
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

fn milliseconds(clock: &Spanned<toml::value::Datetime>) -> Result<u64, Fault> {
    let time: Option<jiff::Timestamp> = clock.get_ref().to_string().parse().ok();
    let time = time.and_then(|time| u64::try_from(time.as_millisecond()).ok());
    time.ok_or_else(|| {
        let fault = Fault::new(clock.span(), "clock is a time since 1970 with its offset");
        fault.hint("write it as 2026-01-31T12:00:00Z")
    })
}
