//! Reading input of a user: files and standard input.

use std::io::Read;
use std::path::Path;

use hookbox::Runtime;
use hookbox::internal::json;
use hookbox::internal::wasm::Component;
use serde_json::{Map, Value};

use crate::error::InputError;

/// The largest event on standard input, in bytes.
const MAX_EVENT: u64 = 256 << 20;

/// Reads one JSON object from standard input; empty input is an empty object. Odd fields reach the hooks, as
/// [`json`] reads them: a guard is never skipped because of odd input.
pub(crate) fn object_from_stdin() -> Result<Map<String, Value>, InputError> {
    let mut text = Vec::new();
    let hint = "pass the event's data as one JSON object, such as {\"tool_name\":\"bash\"}";
    std::io::stdin().lock().take(MAX_EVENT + 1).read_to_end(&mut text).map_err(|error| {
        InputError::new(format!("standard input: expected a JSON object, found: {error}"), hint)
    })?;
    if text.len() as u64 > MAX_EVENT {
        return Err(InputError::new(format!("standard input: has more than {MAX_EVENT} bytes"), hint));
    }
    if text.trim_ascii().is_empty() {
        return Ok(Map::new());
    }
    let members = json::object(&text).map_err(|error| {
        let found = other_type(&text).map_or_else(
            || format!("expected JSON, found: {error}"),
            |found| format!("expected a JSON object, found {found}"),
        );
        InputError::new(format!("standard input: {found}"), hint)
    })?;
    Ok(members.iter().map(|(name, raw)| (name.clone(), json::value(raw))).collect())
}

/// Reads a file, or standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<Vec<u8>, InputError> {
    let wrong = |what: String| {
        InputError::new(
            format!("{}: {what}", path.display()),
            "give a file that you may read, or - for standard input",
        )
    };
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin().lock().take(MAX_EVENT + 1).read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MAX_EVENT + 1).read_to_end(&mut bytes))
    };
    read.map_err(|error| wrong(error.to_string()))?;
    if bytes.len() as u64 > MAX_EVENT {
        return Err(wrong(format!("has more than {MAX_EVENT} bytes")));
    }
    Ok(bytes)
}

/// Returns the type of the text, if it is JSON but not an object.
fn other_type(text: &[u8]) -> Option<&'static str> {
    match serde_json::from_slice(text).ok()? {
        Value::Null => Some("null"),
        Value::Bool(_) => Some("a boolean"),
        Value::Number(_) => Some("a number"),
        Value::String(_) => Some("a string"),
        Value::Array(_) => Some("an array"),
        Value::Object(_) => None,
    }
}

/// Checks that a path is a regular file.
pub(crate) fn regular_file(path: &Path) -> Result<(), InputError> {
    let hint = "give the path of a hook: an executable, or a component (.wasm)";
    let found = match path.metadata() {
        Ok(metadata) if metadata.is_file() => return Ok(()),
        Ok(metadata) if metadata.is_dir() => "a directory".to_owned(),
        Ok(_) => "something else".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(InputError::new(format!("{}: expected a file, found: {found}", path.display()), hint))
}

/// Returns whether a file is WebAssembly, by its name or by its first bytes.
pub(crate) fn is_wasm(path: &Path) -> bool {
    let mut start = [0; 4];
    path.extension().is_some_and(|extension| extension == "wasm")
        || std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
            && start == *b"\0asm"
}

/// Loads a hook component, whose path is for errors.
pub(crate) async fn load(runtime: &Runtime, path: &Path, bytes: Vec<u8>) -> Result<Component, InputError> {
    runtime.load(bytes).await.map_err(|error| {
        let what = format!("{}: expected a hook component, found that it {}", path.display(), error.message);
        InputError::new(what, "build one with the SDK for wasm32-wasip2; see docs/src/component-hooks.md")
    })
}

/// Reads a component.
pub(crate) fn component(path: &Path) -> Result<Vec<u8>, InputError> {
    regular_file(path)?;
    let hint = "give a component (.wasm) that you may read";
    let wrong = |what: String| InputError::new(format!("{}: {what}", path.display()), hint);
    let file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mut bytes = Vec::new();
    let max = hookbox::internal::wasm::MAX_COMPONENT;
    file.take(max + 1).read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
    if bytes.len() as u64 > max {
        return Err(wrong(format!("has more than {max} bytes")));
    }
    Ok(bytes)
}
