//! Records how each client takes the odd answers of a hook, in `tests/data/odd-answers.json`: `cargo test-clients
//! --record-answers`. A test compares hookbox with it.

mod fill;

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::{Map, Value, json};

use self::fill::{GIVES, files, line, mark, reason};
use crate::api::Wish;
use crate::client::{Client, Installation, Trust};
use crate::mock::Mock;
use crate::place::Place;
use crate::process;

/// The beginning of the hook, which answers only before a call.
const BEFORE: &str = r#"#!/bin/sh
payload=$(cat | tr -d '\n')
case "$* $payload" in
*PreToolUse* | *BeforeTool* | *preToolUse*) ;;
*) exit 0 ;;
esac
"#;

/// Returns the file with the answers and the outcomes.
pub(crate) fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/odd-answers.json")
}

/// Gives each answer to a client, and returns what became of each call: `block` if the model was told the reason, `block
/// silently` if it was not, or `run`.
pub(crate) fn record(
    client: &Client,
    dir: &Path,
    hookbox: &Path,
    root: &Path,
    answers: &[Value],
) -> io::Result<Value> {
    let mut outcomes = Map::new();
    // A client may end its turn at an answer; another session continues behind it.
    for session in 0..=answers.len() {
        let begin = outcomes.len();
        if begin == answers.len() {
            break;
        }
        let lines = (begin..answers.len()).map(line).collect();
        let model = Mock::start(Wish::new(lines), || {})?;
        let root = root.join(format!("{}-answers-{session}", client.name));
        let place = Place::new(&root, hookbox, dir, model.url())?;
        let installed = Installation { is_gone: true, ..Installation::default() };
        client.configure(&place, Trust::Bypassed, installed)?;
        forgive(&place)?;
        put(&root.join("hookbox"), client, answers)?;
        process::run(&mut client.command(&place, Trust::Bypassed, false), crate::LIMIT, place.root())?;
        for (number, answer) in answers.iter().enumerate().skip(begin) {
            // The next request tells the model of this call.
            let was_asked =
                if number == begin { !model.seen().is_empty() } else { model.was_told(&line(number - 1)) };
            if !was_asked {
                break;
            }
            let outcome = match place.worked(&mark(number)) {
                Some(_) => "run",
                None if model.was_told(&reason(number)) => "block",
                None => "block silently",
            };
            outcomes.insert(text(answer, "name"), outcome.into());
        }
        if outcomes.len() == begin {
            return Err(io::Error::other("the client did not call the tool"));
        }
    }
    Ok(json!({"version": client.version, "outcomes": outcomes}))
}

/// Removes what `hookbox install` writes for Claude Code, and what its users' hooks do not have: that a failure blocks.
fn forgive(place: &Place) -> io::Result<()> {
    let file = place.home().join(".claude/settings.json");
    match fs::read_to_string(&file) {
        Ok(text) => {
            let kept = text.replace("\"onFailure\": \"block\"", "\"onFailure\": \"continue\"");
            fs::write(file, kept)
        }
        Err(_) => Ok(()),
    }
}

/// Writes the hook, in place of hookbox, and its answers.
fn put(program: &Path, client: &Client, answers: &[Value]) -> io::Result<()> {
    fs::write(program, format!("{BEFORE}{GIVES}"))?;
    fs::set_permissions(program, fs::Permissions::from_mode(0o755))?;
    let dir = program.with_extension("answers");
    fs::create_dir_all(&dir)?;
    for (number, answer) in answers.iter().enumerate() {
        for (name, text) in files(answer, client.name, number) {
            fs::write(dir.join(name), text)?;
        }
    }
    Ok(())
}

fn text(answer: &Value, key: &str) -> String {
    answer.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}
