//! `hookbox schema`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use hookbox::dialect::schema::{ALL, Published, VERSION};
use hookbox::dialect::{base_coat, claude, kodelet};
use hookbox::{EventName, HookError, Outcome, text};
use serde_json::Value;

use super::run::event_name;
use crate::error::{EXIT_FAILED, InputError, hint, warn};
use crate::{input, output};

/// How many faults are shown.
const MAX_FAULTS: usize = 50;

/// How much of a fault is shown, in bytes: it may repeat what was given.
const FAULT_SHOWN: usize = 400;

/// Print the JSON Schemas of what is on the wire, or check JSON against one.
///
/// Without a name all of them are listed.
#[derive(Args, Debug)]
pub(crate) struct Schema {
    /// The schema, such as kodelet-answer.
    name: Option<String>,
    /// Only the part for this event.
    #[arg(long, value_name = "EVENT", requires = "name")]
    at: Option<String>,
    /// Check this file (`-`: standard input) and say what is wrong and where; exit code 1 if something is.
    #[arg(long, value_name = "FILE", requires = "name")]
    check: Option<PathBuf>,
    /// Write all of them into this directory.
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    write: Option<PathBuf>,
}

impl Schema {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        if let Some(directory) = &self.write {
            return write(directory);
        }
        let Some(name) = &self.name else {
            let rows = ALL.iter().map(|it| vec![it.name.to_owned(), it.about.to_owned()]);
            return output::line(&output::table(&["NAME", "WHAT"], rows));
        };
        let published = named(name)?;
        let event = self.at.as_deref().map(event_name).transpose()?;
        let schema = match &event {
            None => published.document(),
            Some(event) => published.at(event).ok_or_else(|| {
                InputError::new(format!("{} has nothing for {event}", published.name), "leave --at out")
            })?,
        };
        match &self.check {
            None => output::json(&schema),
            Some(file) => check(published, &schema, event.as_ref(), file),
        }
    }
}

fn named(name: &str) -> Result<&'static Published, InputError> {
    Published::named(name.trim_end_matches(".json")).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|it| it.name).collect();
        let found = text::escape(name, 80);
        let what = format!("expected the name of a schema, found \"{found}\"");
        InputError::new(what, format!("it is one of {}", names.join(", ")))
    })
}

fn write(directory: &Path) -> anyhow::Result<ExitCode> {
    fs::create_dir_all(directory).with_context(|| format!("failed to create {}", directory.display()))?;
    for schema in &ALL {
        let path = directory.join(format!("{}.json", schema.name));
        let text = serde_json::to_string_pretty(&schema.document())? + "\n";
        fs::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    output::line(&format!("{} schemas of version {VERSION} in {}", ALL.len(), directory.display()))
}

/// Says what is wrong, one line each: the place as a JSON Pointer, and what is expected there.
fn check(
    published: &Published,
    schema: &Value,
    event: Option<&EventName>,
    file: &Path,
) -> anyhow::Result<ExitCode> {
    let is_answer = published.name.ends_with("-answer");
    if is_answer && event.is_none() {
        let what = "an answer does not say which event it is for";
        return Err(InputError::new(what, "name it with --at, such as --at before_tool_call").into());
    }
    let bytes = input::text(file)?;
    // Nothing is an answer, too: no action.
    if is_answer && bytes.trim_ascii().is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut faults = Vec::new();
    let given: Result<Value, _> = serde_json::from_slice(&bytes);
    match given {
        Ok(given) => {
            let validator = jsonschema::validator_for(schema).context("failed to use the schema")?;
            for error in validator.iter_errors(&given).take(MAX_FAULTS) {
                let place = error.instance_path().as_str();
                let place = if place.is_empty() { "(whole)" } else { place };
                faults.push(format!(
                    "{}: {}",
                    text::escape(place, 200),
                    text::escape(&error.to_string(), FAULT_SHOWN)
                ));
            }
        }
        Err(error) => faults.push(format!("(whole): is no JSON: {error}")),
    }
    if let Some(event) = event.filter(|_| is_answer) {
        match read(published, event, &bytes) {
            Ok(outcome) => outcome.noticed.iter().for_each(warn),
            Err(error) if faults.is_empty() => faults.push(format!("(whole): {}", error.message)),
            Err(_) => {}
        }
    }
    if faults.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&faults.join("\n"))?;
    hint(format_args!("see `hookbox schema {}`", published.name));
    Ok(ExitCode::from(EXIT_FAILED))
}

/// Reads an answer as a chain would, which also sees what a schema cannot: a key that is there twice, or unknown.
fn read(published: &Published, event: &EventName, bytes: &[u8]) -> Result<Outcome, HookError> {
    match published.name {
        "claude-answer" => claude::outcome(event, 0, bytes, ""),
        "base-coat-answer" => match serde_json::from_slice(bytes) {
            Ok(Value::Object(object)) => base_coat::outcome(event, object),
            // The schema has said so.
            _ => Ok(Outcome::pass()),
        },
        _ => kodelet::outcome(event, bytes),
    }
}
