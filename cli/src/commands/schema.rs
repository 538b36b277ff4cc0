//! `hookbox schema`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Args;
use hookbox::dialect::schema::{self, ALL, VERSION};
use hookbox::dialect::{base_coat, claude, kodelet};
use hookbox::rules::Rules;
use hookbox::{EventName, HookError, Outcome};
use hookbox_system::{limits, text, toml_value as toml};
use serde_json::Value;

use crate::error::{EXIT_FAILED, InputError, hint, warn};
use crate::given::event_name;
use crate::{input, named, output};

/// The schema of a rules file.
const RULES: &str = "rules";

/// The schemas of files that are TOML.
const OF_TOML: [&str; 2] = [RULES, "settings"];

/// Print a JSON Schema, or check JSON, rules or settings against one.
///
/// Without a name all of them are listed.
#[derive(Args, Debug)]
pub(crate) struct Schema {
    /// The schema, such as kodelet-answer.
    #[arg(value_parser = named::schema(), hide_possible_values = true)]
    name: Option<String>,
    /// Only the part for this event.
    #[arg(long, value_name = "EVENT", requires = "name", value_parser = named::event(), hide_possible_values = true)]
    at: Option<String>,
    /// Check this file (`-`: standard input) and print each fault with its place; exit code 1 if there is
    /// one.
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
        let Some(name) = &self.name else { return list() };
        let schema = named(name)?;
        let event = self.at.as_deref().map(event_name).transpose()?;
        let document = match &event {
            None => schema.document(),
            Some(event) => schema.at(event).ok_or_else(|| {
                InputError::new(format!("{} has nothing for {event}", schema.name), "leave --at out")
            })?,
        };
        match &self.check {
            None => output::json(&document),
            Some(file) => check(schema, &document, event.as_ref(), file),
        }
    }
}

fn list() -> anyhow::Result<ExitCode> {
    let rows = ALL.iter().map(|schema| {
        let document = schema.document();
        let about = document.get("description").and_then(Value::as_str).unwrap_or_default();
        vec![schema.name.to_owned(), about.to_owned()]
    });
    output::line(&output::table(&["NAME", "DESCRIPTION"], rows))
}

fn named(name: &str) -> Result<&'static schema::Schema, InputError> {
    schema::Schema::named(name.trim_end_matches(".json")).ok_or_else(|| {
        let names: Vec<&str> = ALL.iter().map(|schema| schema.name).collect();
        let name = text::escape(name, 80);
        InputError::new(format!("\"{name}\" is not a schema"), format!("it is one of {}", names.join(", ")))
    })
}

fn write(directory: &Path) -> anyhow::Result<ExitCode> {
    fs::create_dir_all(directory).with_context(|| format!("failed to create {}", directory.display()))?;
    for schema in &ALL {
        let path = directory.join(format!("{}.json", schema.name));
        fs::write(&path, schema.text).with_context(|| format!("failed to write {}", path.display()))?;
    }
    output::line(&format!("{} schemas of version {VERSION} in {}", ALL.len(), directory.display()))
}

/// Prints the faults of a file, one line each: a JSON Pointer, and the rule that does not hold.
fn check(
    schema: &schema::Schema,
    document: &Value,
    event: Option<&EventName>,
    file: &Path,
) -> anyhow::Result<ExitCode> {
    let is_answer = schema.name.ends_with("-answer");
    if is_answer && event.is_none() {
        let what = "an answer does not name its event";
        return Err(InputError::new(what, "name it with --at, such as --at before_tool_call").into());
    }
    let bytes = input::text(file)?;
    // An empty answer is valid: no action.
    if is_answer && bytes.trim_ascii().is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut faults = Vec::new();
    match value(schema, &bytes) {
        Ok(given) => {
            let validator = jsonschema::validator_for(document).context("failed to use the schema")?;
            for error in validator.iter_errors(&given).take(limits::NAMED) {
                let pointer = error.instance_path().as_str();
                let pointer = if pointer.is_empty() { "(whole)" } else { pointer };
                let fault = text::escape(&error.to_string(), limits::EXCERPT);
                faults.push(format!("{}: {fault}", text::escape(pointer, 200)));
            }
        }
        Err(why) => faults.push(format!("(whole): {why}")),
    }
    // A schema does not know what an example matches.
    if let (RULES, true, Err(error)) = (schema.name, faults.is_empty(), Rules::read(&bytes)) {
        faults.push(error.to_string());
    }
    if let Some(event) = event.filter(|_| is_answer) {
        match read(schema, event, &bytes) {
            Ok(outcome) => outcome.noticed.iter().for_each(warn),
            Err(error) if faults.is_empty() => faults.push(format!("(whole): {}", error.message)),
            Err(_) => {}
        }
    }
    if faults.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    output::line(&faults.join("\n"))?;
    hint(format_args!("see `hookbox schema {}`", schema.name));
    Ok(ExitCode::from(EXIT_FAILED))
}

/// Reads a file as JSON, or as TOML if its schema is for that.
fn value(schema: &schema::Schema, bytes: &[u8]) -> Result<Value, String> {
    if !OF_TOML.contains(&schema.name) {
        return serde_json::from_slice(bytes).map_err(|error| format!("not JSON: {error}"));
    }
    let text = str::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
    toml::json(text).map_err(|why| format!("not TOML: {why}"))
}

/// Reads an answer as a chain does. It also finds what a schema cannot: a key that is repeated or unknown.
fn read(schema: &schema::Schema, event: &EventName, bytes: &[u8]) -> Result<Outcome, HookError> {
    match schema.name {
        "claude-answer" => claude::outcome(event, 0, bytes, ""),
        "base-coat-answer" => match serde_json::from_slice(bytes) {
            Ok(Value::Object(object)) => base_coat::outcome(event, object),
            // The schema has reported it.
            _ => Ok(Outcome::pass()),
        },
        _ => kodelet::outcome(event, bytes),
    }
}
