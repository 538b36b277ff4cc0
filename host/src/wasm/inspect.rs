//! The kind and the interface of a file, read before any of its code runs.

use std::fmt;

use serde::{Deserialize, Serialize};
use wasmparser::{Parser, Payload};
use wasmtime::Engine;
use wasmtime::component::Component;

use crate::hook::{Cause, HookError, LimitKind, MAX_COMPONENT, SettingsSchema};
use hookbox_system::text;

/// The interface that a hook exports, without its version.
const HOOK: &str = "hookbox:hook/hook";
/// The versions of the WIT package that this host serves.
pub const WIT_VERSIONS: &[&str] = &["0.2.0"];

/// The section with the schema of a hook's settings. It may be in a module of the component, because linkers keep the
/// sections of a module where they are.
const SETTINGS: &str = "hookbox:settings";
/// The largest function, in bytes: ten times the largest of an interpreter (the loops of CPython and QuickJS
/// have about 100 KB). The compiler works on one function at a time, one per core, and its memory grows with the size of
/// the function.
const MAX_FUNCTION: u64 = 1 << 20;

/// An import or export of a component, such as `wasi:cli/environment@0.2.12`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InterfaceName(String);

impl InterfaceName {
    /// The name as the component has it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Explains the right that importing it gives a hook.
    pub fn explain(&self) -> &'static str {
        let interface = self.0.split('@').next().unwrap_or_default();
        let known = [
            ("hookbox:hook/types", "the event's documents"),
            ("hookbox:hook/facts", "read shell lines as commands"),
            ("hookbox:hook/work-tree", "see which files git tracks, if granted"),
            ("wasi:logging/", "write to the report's log"),
            ("wasi:config/", "read its own settings"),
            ("wasi:keyvalue/", "keep state, if granted"),
            ("wasi:http/", "send HTTP requests, if granted"),
            ("wasi:filesystem/", "open directories, if granted"),
            ("wasi:cli/environment", "read environment variables, if granted"),
            ("wasi:cli/stdin", "standard input: always empty"),
            ("wasi:cli/stdout", "standard output: dropped"),
            ("wasi:cli/stderr", "standard error: part of the log"),
            ("wasi:cli/", "part of every program"),
            ("wasi:clocks/", "read the time"),
            ("wasi:random/", "random numbers"),
            ("wasi:sockets/", "sockets: always denied"),
            ("wasi:io/", "streams of the other interfaces"),
        ];
        known
            .iter()
            .find(|(prefix, _)| interface.starts_with(prefix))
            .map_or("not served", |(_, means)| means)
    }
}

impl fmt::Display for InterfaceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Checks that bytes can be a component at all, with a clearer error than a parser's.
fn check_header(bytes: &[u8]) -> Result<(), HookError> {
    let size = bytes.len() as u64;
    if size > MAX_COMPONENT {
        let what = format!("has {size} bytes, {MAX_COMPONENT} are allowed");
        let of = LimitKind::Component;
        return Err(HookError::exceeded(Cause::Incompatible, of, MAX_COMPONENT, Some(size), what));
    }
    let incompatible = |what: String| Err(HookError::new(Cause::Incompatible, what));
    match bytes {
        [b'\0', b'a', b's', b'm', 0x0d, 0, 1, 0, ..] => Ok(()),
        [b'\0', b'a', b's', b'm', 1, 0, 0, 0, ..] => incompatible(
            "is a core WebAssembly module, expected a component; hint: build it for wasm32-wasip2".to_owned(),
        ),
        [b'\0', b'a', b's', b'm', ..] => incompatible("is WebAssembly of an unknown version".to_owned()),
        [0x7f, b'E', b'L', b'F', ..] => {
            incompatible("is compiled machine code, expected a component; it is never loaded".to_owned())
        }
        [] => incompatible("is empty, expected a component".to_owned()),
        // The file may hold a secret, and a message is seen by more people than the file.
        _ => incompatible("is not WebAssembly, expected a component".to_owned()),
    }
}

/// Checks that bytes can be a component that compiles at a bounded cost, and reads the schema of its settings, if it has
/// one. The compiler reports an invalid component.
pub(super) fn check(bytes: &[u8]) -> Result<Option<SettingsSchema>, HookError> {
    check_header(bytes)?;
    let incompatible = |what: String| HookError::new(Cause::Incompatible, what);
    let mut found = None;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload {
            Ok(Payload::CodeSectionEntry(body)) if body.range().len() as u64 > MAX_FUNCTION => {
                let size = body.range().len() as u64;
                let what = format!("has a function of {size} bytes, {MAX_FUNCTION} are allowed");
                let of = LimitKind::Function;
                return Err(HookError::exceeded(Cause::Incompatible, of, MAX_FUNCTION, Some(size), what));
            }
            Ok(Payload::CustomSection(section)) if section.name() == SETTINGS => {
                if found.replace(section.data()).is_some() {
                    return Err(incompatible(format!("has more than one section {SETTINGS}")));
                }
            }
            Ok(_) => {}
            Err(_) => return Ok(None),
        }
    }
    let schema = found.map(SettingsSchema::parse).transpose();
    schema.map_err(|why| incompatible(format!("has a schema of its settings that cannot be read: {why}")))
}

/// The imports of a component.
pub(super) fn imports(engine: &Engine, component: &Component) -> Vec<InterfaceName> {
    component.component_type().imports(engine).map(|(name, _)| InterfaceName(name.to_owned())).collect()
}

/// Checks that a component exports a hook interface that this host serves.
pub(super) fn check_exports(engine: &Engine, component: &Component) -> Result<String, HookError> {
    let ty = component.component_type();
    let exports: Vec<String> = ty.exports(engine).map(|(name, _)| name.to_owned()).collect();
    let incompatible = |what: String| Err(HookError::new(Cause::Incompatible, what));
    let versions = || exports.iter().filter_map(|name| name.strip_prefix(HOOK)?.strip_prefix('@'));
    let newest = WIT_VERSIONS.iter().rev().find_map(|served| versions().find(|it| fits(it, served)));
    let version = newest.or_else(|| versions().next());
    match version {
        Some(version) if serves(version) => Ok(version.to_owned()),
        Some(version) => incompatible(format!(
            "was built for {HOOK}@{}, this hookbox serves {}; hint: update hookbox, or build the hook for a \
             version that is served",
            text::escape(version, 40),
            WIT_VERSIONS.join(", "),
        )),
        None => {
            let found = if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") };
            incompatible(format!(
                "is a component but no hook: it exports {}, expected {HOOK}",
                text::escape(&found, 200)
            ))
        }
    }
}

/// Returns whether a version of the interface can be called as one of [`WIT_VERSIONS`]. Before 1.0 each minor
/// version is separate, and a patch adds nothing that older hooks need.
fn serves(version: &str) -> bool {
    WIT_VERSIONS.iter().any(|served| fits(version, served))
}

/// Returns whether two versions differ at most in their patch.
fn fits(version: &str, served: &str) -> bool {
    let track = |version: &str| version.rsplit_once('.').map(|(track, _)| track.to_owned());
    track(version) == track(served)
}

/// The import that keeps a component from being linked, in words.
pub(super) fn explain_link(error: &wasmtime::Error, imports: &[InterfaceName]) -> HookError {
    let unserved: Vec<&str> = imports
        .iter()
        .filter(|import| import.explain() == "not served" || is_newer_types(import))
        .map(InterfaceName::as_str)
        .collect();
    let what = if unserved.is_empty() {
        format!("does not fit this host's interfaces: {}", text::escape(&error.root_cause().to_string(), 200))
    } else {
        format!("imports what no host of this version serves: {}", text::escape(&unserved.join(", "), 300))
    };
    HookError::new(Cause::Incompatible, what)
}

fn is_newer_types(import: &InterfaceName) -> bool {
    import
        .as_str()
        .strip_prefix("hookbox:hook/types")
        .and_then(|rest| rest.strip_prefix('@'))
        .is_some_and(|version| !serves(version))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_sections(sections: &[&str]) -> Vec<u8> {
        let mut bytes = b"\0asm\x0d\0\x01\0".to_vec();
        for json in sections {
            let content =
                [&[u8::try_from(SETTINGS.len()).unwrap()], SETTINGS.as_bytes(), json.as_bytes()].concat();
            bytes.extend([0, u8::try_from(content.len()).unwrap()]);
            bytes.extend(content);
        }
        bytes
    }

    #[test]
    fn a_component_has_one_schema_or_none() {
        let object = r#"{"type": "object"}"#;
        for (sections, want) in [
            (&[][..], Ok(false)),
            (&[object], Ok(true)),
            (&[object, object], Err("more than one section")),
            (&["[]"], Err("cannot be read: its type is not")),
        ] {
            let found = check(&with_sections(sections)).map(|schema| schema.is_some());
            match (found, want) {
                (Ok(found), Ok(want)) => assert_eq!(found, want, "{sections:?}"),
                (Err(error), Err(why)) => assert!(error.message.contains(why), "{error}"),
                (found, _) => panic!("{sections:?}: {found:?}"),
            }
        }
        let mut damaged = with_sections(&[object]);
        damaged.truncate(damaged.len() - 1);
        assert_eq!(check(&damaged), Ok(None));
    }
}
