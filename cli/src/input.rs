//! Reading input of a user: files, standard input, and hooks that are named by their files.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use hookbox::rules::{Rules, RulesHook};
use hookbox::{
    Component, ComponentHook, Descriptor, Hook, HookError, Kind, Manifest, Runtime, Settings, native,
    shown_path,
};
use hookbox_system::json;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Map, Value};

use crate::error::{InputError, note};
use crate::help::page;

/// The largest event on standard input, in bytes.
pub(crate) const MAX_EVENT: u64 = 256 << 20;

/// One JSON object.
#[derive(Default)]
pub(crate) struct Given {
    /// Its fields.
    pub(crate) object: Map<String, Value>,
    /// The text that was read.
    pub(crate) text: Vec<u8>,
}

/// Reads one JSON object from standard input; empty input is an empty object. Odd fields reach the hooks, as
/// [`json`] reads them: a guard is never skipped because of odd input.
pub(crate) fn object_from_stdin() -> Result<Given, InputError> {
    if std::io::stdin().is_terminal() {
        note("reading the event as one JSON object from standard input; end it with Ctrl-D");
    }
    object("standard input", bounded(std::io::stdin().lock(), MAX_EVENT))
}

/// Reads one JSON object from a file, as [`object_from_stdin`] does.
pub(crate) fn object_from_file(path: &Path) -> Result<Given, InputError> {
    object(&path.display().to_string(), bounded_file(path, MAX_EVENT))
}

fn object(from: &str, text: io::Result<Vec<u8>>) -> Result<Given, InputError> {
    let hint = "pass the event's data as one JSON object, such as {\"tool_name\":\"bash\"}";
    let wrong = |what: String| InputError::new(format!("{from}: {what}"), hint);
    let text = text.map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => wrong(error.to_string()),
        _ => wrong(format!("expected a JSON object, found: {error}")),
    })?;
    if text.trim_ascii().is_empty() {
        return Ok(Given::default());
    }
    let members = json::object(&text).map_err(|error| {
        wrong(other_type(&text).map_or_else(
            || format!("expected JSON, found: {error}"),
            |found| format!("expected a JSON object, found {found}"),
        ))
    })?;
    let object = members.iter().map(|(name, raw)| (name.clone(), json::value(raw))).collect();
    Ok(Given { object, text })
}

/// Reads a file, or standard input for `-`.
pub(crate) fn text(path: &Path) -> Result<Vec<u8>, InputError> {
    let read = match path.as_os_str() == "-" {
        true => bounded(std::io::stdin().lock(), MAX_EVENT),
        false => bounded_file(path, MAX_EVENT),
    };
    read.map_err(|error| {
        let hint = "give a file that you may read, or - for standard input";
        InputError::new(format!("{}: {error}", path.display()), hint)
    })
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
    let hint = "give the path of a hook: an executable, a component (.wasm) or rules (.rules.toml)";
    let shown = path.display();
    let what = match path.metadata() {
        Ok(metadata) if metadata.is_file() => return Ok(()),
        Ok(metadata) if metadata.is_dir() => format!("{shown}: expected a file, found a directory"),
        Ok(_) => format!("{shown}: expected a file, found something else"),
        Err(error) if error.kind() == io::ErrorKind::NotFound => format!("cannot read {shown}: no such file"),
        Err(error) => format!("cannot read {shown}: {error}"),
    };
    Err(InputError::new(what, hint))
}

/// Returns whether a file is WebAssembly, by its name or by its first bytes.
pub(crate) fn is_wasm(path: &Path) -> bool {
    let mut start = [0; 4];
    path.extension().is_some_and(|extension| extension == "wasm")
        || File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == *b"\0asm"
}

/// Returns whether a file is a rules file, by its name.
pub(crate) fn is_rules(path: &Path) -> bool {
    path.to_string_lossy().ends_with(hookbox::rules::ENDING)
}

/// Reads a rules file, and checks its examples.
pub(crate) fn rules(path: &Path) -> Result<Rules, InputError> {
    regular_file(path)?;
    let hint = format!("see {}", page("rules.md"));
    let wrong = |what: String| InputError::new(format!("{}: {what}", path.display()), hint.clone());
    let bytes = bounded_file(path, hookbox::rules::MAX_FILE).map_err(|it| wrong(it.to_string()))?;
    Rules::read(&bytes).map_err(|error| wrong(error.to_string()))
}

/// Loads a hook component, whose path is for errors.
pub(crate) async fn load(runtime: &Runtime, path: &Path, bytes: Vec<u8>) -> Result<Component, InputError> {
    loaded(path, runtime.load(bytes).await)
}

/// Describes the failure of a component to load, with a hint.
pub(crate) fn loaded(path: &Path, loaded: Result<Component, HookError>) -> Result<Component, InputError> {
    loaded.map_err(|error| {
        let what = format!("{}: {}", path.display(), error.message);
        let hint = format!("build one with the SDK for wasm32-wasip2; see {}", page("component-hooks.md"));
        InputError::new(what, hint)
    })
}

/// Reads a component.
pub(crate) fn component(path: &Path) -> Result<Vec<u8>, InputError> {
    regular_file(path)?;
    bounded_file(path, hookbox::MAX_COMPONENT).map_err(|error| {
        let hint = "give a component (.wasm) that you may read";
        InputError::new(format!("{}: {error}", path.display()), hint)
    })
}

pub(crate) fn bounded_file(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    bounded(File::open(path)?, max)
}

/// Reads input of at most `max` bytes.
pub(crate) fn bounded(from: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("has more than {max} bytes")));
    }
    Ok(bytes)
}

/// Loads rules or an executable that the user names: trusted, and with no permissions. Returns nothing for a component.
pub(crate) async fn plain_hook(file: &Path) -> anyhow::Result<Option<Arc<dyn Hook>>> {
    regular_file(file)?;
    let name = hook_name(file);
    if is_rules(file) {
        let rules = rules(file)?;
        let descriptor = descriptor(file, Kind::Rules, rules.manifest());
        return Ok(Some(Arc::new(RulesHook::new(descriptor, rules, std::env::home_dir()))));
    }
    if is_wasm(file) {
        return Ok(None);
    }
    let program = std::path::absolute(file)?;
    let event = native::query(&program, None, &[], native::QUERY)
        .await
        .map_err(|error| anyhow!("{name}: {error}"))?;
    let descriptor = Descriptor::new(name, Kind::Native).on(event);
    Ok(Some(Arc::new(native::NativeHook::new(descriptor, program))))
}

/// Returns the hook of a component.
pub(crate) fn component_hook(file: &Path, component: Component) -> Arc<dyn Hook> {
    let descriptor = descriptor(file, Kind::Component, component.manifest());
    Arc::new(ComponentHook::new(component, descriptor, Settings::new()))
}

/// Returns the name of a hook with this file.
pub(crate) fn hook_name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn descriptor(file: &Path, kind: Kind, manifest: &Manifest) -> Descriptor {
    let mut descriptor = Descriptor::new(hook_name(file), kind);
    descriptor.subscriptions.clone_from(&manifest.subscriptions);
    descriptor.answers = manifest.answers;
    descriptor.on_failure = manifest.on_failure.unwrap_or_default();
    descriptor.path = Some(file.to_owned());
    descriptor
}

/// Returns the files of a directory that are hooks as `is_wanted` says, by name, or the file that is named instead of a
/// directory. `wanted` names these hooks.
pub(crate) fn hook_files(
    directory: &Path,
    wanted: &str,
    is_wanted: fn(&Path) -> bool,
) -> anyhow::Result<Vec<PathBuf>> {
    if !directory.is_dir() {
        return Ok(vec![directory.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_file() && is_wanted(&path) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        let directory = shown_path(directory);
        let what = format!("{directory}: expected {wanted}, found none");
        return Err(InputError::new(what, format!("give a directory with {wanted}")).into());
    }
    Ok(files)
}

/// Returns true if this can be read, or has ended, within this time.
pub(crate) fn has_input(from: BorrowedFd<'_>, wait: Duration) -> bool {
    let wait = Timespec::try_from(wait).ok();
    let mut all = [PollFd::from_borrowed_fd(from, PollFlags::IN)];
    // A signal ends the wait.
    poll(&mut all, wait.as_ref()).is_ok_and(|ready| ready > 0)
}
