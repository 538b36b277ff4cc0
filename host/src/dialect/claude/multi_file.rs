//! Splits a call of several files, or a patch, into calls of one file. Claude Code's tools have one file
//! each, so that a guard of files checks `file_path`: it would find no file in a patch.

use serde_json::{Map, Value, json};

use super::tool::{absolute, call};
use crate::event::{Event, ToolCall};
use hookbox_system::text;

/// The number of files of one call that a hook sees, each in a run of its own.
pub const MAX_FILES: usize = 32;

/// The first line of a file in a patch (of `apply_patch`), and the change to the file.
const HEADS: [(&str, Change); 4] = [
    ("*** Add File:", Change::Written),
    ("*** Update File:", Change::Edited),
    ("*** Delete File:", Change::Edited),
    ("*** Move to:", Change::Written),
];

/// The characters of a path that is a pattern.
const PATTERN: [char; 4] = ['*', '?', '[', '{'];

/// The events that a hook sees in place of one event.
#[derive(Clone, Debug)]
pub struct Split {
    /// One event for each run of the hook: the event itself, or one for each file of its call.
    pub events: Vec<Event>,
    /// True if each event is about one file of a call. A block of any of them blocks the call; a changed
    /// input of one has no counterpart in the call.
    pub in_parts: bool,
    /// The reason why the hook cannot see the whole call, to be read after the hook's name. Unless the hook
    /// blocks, it has failed.
    pub beyond: Option<String>,
}

/// The change to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Edited,
    Written,
}

/// One file of a call.
struct Part {
    path: String,
    /// The tools of Claude Code for such a call, the likeliest first.
    tools: &'static [&'static str],
    old: String,
    new: String,
    /// The input beside the path; `None` for a patch.
    rest: Option<Map<String, Value>>,
}

impl Part {
    fn new(path: &str, what: Change, cwd: &str) -> Self {
        let tools: &[&str] = match what {
            Change::Edited => &["Edit", "Write"],
            Change::Written => &["Write", "Edit"],
        };
        Self { path: absolute(path, cwd), tools, old: String::new(), new: String::new(), rest: None }
    }

    /// Returns the input for Claude Code's tool of this name.
    fn input(&self, tool: &str) -> Value {
        match (&self.rest, tool) {
            (Some(rest), _) => {
                let mut input = Map::from_iter([("file_path".to_owned(), self.path.as_str().into())]);
                rest.iter().for_each(|(field, value)| {
                    input.entry(field.as_str()).or_insert_with(|| value.clone());
                });
                Value::Object(input)
            }
            (None, "Write") => json!({"file_path": self.path, "content": self.new}),
            (None, _) => {
                json!({"file_path": self.path, "old_string": self.old, "new_string": self.new})
            }
        }
    }
}

/// Splits a call that Claude Code would make as several calls, or with another tool. Any other event stays as
/// it is. So does a call for a hook that is for none of the split events: it is declared for the agent's own
/// name of the tool.
pub fn split(event: &Event, is_for: impl Fn(&Event) -> bool) -> Split {
    let whole = || Split { events: vec![event.clone()], in_parts: false, beyond: None };
    let Some(called) = event.tool_call() else { return whole() };
    let Some((mut parts, beyond)) = parts(called, &event.context.cwd) else { return whole() };
    let with = |part: &Part, name: &str| {
        let mut event = event.clone();
        if let Some(call) = event.tool_call_mut() {
            *call = ToolCall { id: call.id.clone(), ..ToolCall::new(name, part.input(name)) };
        }
        event
    };
    if parts.is_empty() {
        let unknown = Part::new("", Change::Edited, "");
        let is_meant = unknown.tools.iter().any(|name| is_for(&with(&unknown, name)));
        return if is_meant { Split { events: Vec::new(), in_parts: true, beyond } } else { whole() };
    }
    let more = parts.len() > MAX_FILES;
    parts.truncate(MAX_FILES);
    let mut is_meant = false;
    let mut events = Vec::new();
    for part in &parts {
        let own = part.tools.iter().map(|name| with(part, name)).find(&is_for);
        is_meant |= own.is_some();
        events.extend(own.or_else(|| part.tools.first().map(|name| with(part, name))));
    }
    if !is_meant {
        return whole();
    }
    let beyond = if more {
        Some(unseen(&called.name, &format!("it names more than {MAX_FILES} files")))
    } else {
        beyond
    };
    Split { events, in_parts: true, beyond }
}

fn unseen(tool: &str, why: &str) -> String {
    format!("cannot be shown all of {} in the words of its agent: {why}", text::escape(tool, 80))
}

/// Returns the files of a call that Claude Code has no tool for, and the reason if that is not all of them;
/// `None` for any other call.
fn parts(called: &ToolCall, cwd: &str) -> Option<(Vec<Part>, Option<String>)> {
    let plain = hookbox_calls::plain(&called.name);
    let input = called.input.value();
    let named = hookbox_calls::named(&called.name, input);
    if matches!(plain.as_str(), "applypatch" | "patch") {
        let mut patch = Patch { parts: Vec::new(), open: Vec::new(), cwd };
        patch.read(input, 0);
        let mut parts = patch.parts;
        for path in named {
            let path = absolute(path, cwd);
            if !parts.iter().any(|part| part.path == path) {
                parts.push(Part::new(&path, Change::Edited, cwd));
            }
        }
        let unread = || unseen(&called.name, "no file that it changes can be read from it");
        let beyond = parts.is_empty().then(unread);
        return Some((parts, beyond));
    }
    let (name, input) = call(called, cwd);
    let tools: &[&str] = match name.as_str() {
        "Read" => &["Read"],
        "Write" => &["Write"],
        "Edit" => &["Edit"],
        "MultiEdit" => &["MultiEdit", "Edit"],
        _ => return None,
    };
    let mut paths: Vec<String> = Vec::new();
    for path in &named {
        let path = absolute(path, cwd);
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let has_file = input.get("file_path").is_some_and(Value::is_string);
    if paths.is_empty() || (paths.len() == 1 && has_file) {
        return None;
    }
    let many = plain == "readmanyfiles";
    let is_pattern =
        |path: &&str| path.contains(PATTERN) || path.ends_with('/') || matches!(*path, "." | "..");
    let pattern = named.iter().copied().find(is_pattern).filter(|_| many);
    let beyond = pattern.map(|pattern| {
        let pattern = text::escape(pattern, 80);
        unseen(&called.name, &format!("which files \"{pattern}\" leads to is not known"))
    });
    let Value::Object(mut rest) = input else { return None };
    rest.shift_remove("file_path");
    let part =
        |path: String| Part { path, tools, old: String::new(), new: String::new(), rest: Some(rest.clone()) };
    Some((paths.into_iter().take(MAX_FILES + 1).map(part).collect(), beyond))
}

/// Reads a patch.
struct Patch<'a> {
    parts: Vec<Part>,
    /// The files that a line may belong to.
    open: Vec<usize>,
    cwd: &'a str,
}

impl Patch<'_> {
    /// Reads every text of the input: agents put the patch into different fields.
    fn read(&mut self, input: &Value, depth: usize) {
        match input {
            Value::String(text) => {
                self.open.clear();
                text.lines().for_each(|line| self.line(line));
            }
            Value::Array(items) if depth < 4 => items.iter().for_each(|item| self.read(item, depth + 1)),
            Value::Object(fields) if depth < 4 => {
                fields.values().for_each(|value| self.read(value, depth + 1));
            }
            _ => {}
        }
    }

    fn line(&mut self, line: &str) {
        let trimmed = line.trim();
        let head = HEADS.iter().find_map(|(head, what)| Some((trimmed.strip_prefix(head)?.trim(), *what)));
        if let Some((path, what)) = head.filter(|(path, _)| !path.is_empty()) {
            // An indented line may also be a line of the file before.
            let moves = trimmed.starts_with("*** Move to:");
            if line.starts_with("***") && !moves {
                self.open.clear();
            }
            if self.parts.len() <= MAX_FILES {
                self.open.push(self.parts.len());
                self.parts.push(Part::new(path, what, self.cwd));
            } else {
                self.open.clear();
            }
            return;
        }
        let (old, new) = match line.split_at_checked(1) {
            Some(("-", rest)) => (Some(rest), None),
            Some(("+", rest)) => (None, Some(rest)),
            Some((" ", rest)) => (Some(rest), Some(rest)),
            _ if line.is_empty() => (Some(line), Some(line)),
            _ => return,
        };
        for at in &self.open {
            let Some(part) = self.parts.get_mut(*at) else { continue };
            for (text, line) in [(&mut part.old, old), (&mut part.new, new)] {
                if let Some(line) = line {
                    text.push_str(line);
                    text.push('\n');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dialect::claude::Matcher;
    use crate::event::{Context, EventData, ToolResult};

    fn split_for(matcher: &str, name: &str, input: Value) -> Split {
        let call = ToolCall::new(name, input).with_id("t");
        let event = Event {
            context: Arc::new(Context::new("s", "/w")),
            data: EventData::AfterToolCall(ToolResult::new(call, json!("done"))),
        };
        let matcher = Matcher::parse(matcher).unwrap();
        split(&event, |event| matcher.is_for(event))
    }

    fn calls(split: &Split) -> Vec<(String, Value)> {
        let call = |event: &Event| {
            let call = event.tool_call().unwrap();
            assert_eq!(call.id.as_deref(), Some("t"));
            (call.name.clone(), call.input.value().clone())
        };
        split.events.iter().map(call).collect()
    }

    const PATCH: &str = "*** Begin Patch\n*** Update File: .env\n@@ fn\n-a=1\n+a=2\n b\n*** Add File: /x/new\n+one\n+two\n\
        *** Delete File: gone\n*** Update File: from\n*** Move to: to\n@@\n-o\n+n\n*** End Patch\n";

    #[test]
    fn each_file_of_a_patch_is_an_edit_or_a_write() {
        let edit = |path: &str, old: &str, new: &str| {
            ("Edit".to_owned(), json!({"file_path": path, "old_string": old, "new_string": new}))
        };
        let write = |path: &str, new: &str| ("Write".to_owned(), json!({"file_path": path, "content": new}));
        for (name, input) in [
            ("apply_patch", json!({ "command": PATCH })),
            ("apply_patch", json!({"command": ["apply_patch", PATCH]})),
            ("apply_patch", json!({ "input": PATCH })),
            ("patch", json!({ "patchText": PATCH })),
            ("applyPatch", json!(PATCH)),
        ] {
            let found = split_for("Edit|Write|MultiEdit", name, input.clone());
            assert_eq!(
                calls(&found),
                [
                    edit("/w/.env", "a=1\nb\n", "a=2\nb\n"),
                    write("/x/new", "one\ntwo\n"),
                    edit("/w/gone", "", ""),
                    edit("/w/from", "o\n", "n\n"),
                    write("/w/to", "n\n"),
                ],
                "{name} {input}"
            );
            assert!(found.in_parts && found.beyond.is_none(), "{found:?}");
        }
    }

    #[test]
    fn a_hook_sees_the_tool_that_it_is_for() {
        let names = |matcher: &str| -> Vec<String> {
            let found = split_for(matcher, "apply_patch", json!({ "command": PATCH }));
            calls(&found).into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names("Write"), ["Write"; 5]);
        assert_eq!(names("Edit"), ["Edit"; 5]);
        assert_eq!(names("*"), ["Edit", "Write", "Edit", "Edit", "Write"]);
        assert_eq!(names("apply_patch"), ["apply_patch"], "it knows what a patch is");
        assert_eq!(names("Edit|apply_patch"), ["Edit"; 5]);
    }

    #[test]
    fn each_file_of_a_call_that_reads_several_is_a_read() {
        let read = |path: &str| ("Read".to_owned(), path.to_owned());
        for (name, input, want) in [
            ("read_many_files", json!({"include": [".env"]}), vec![read("/w/.env")]),
            ("read_many_files", json!({"paths": ["a", "./a", "/b"]}), vec![read("/w/a"), read("/b")]),
            (
                "read_files",
                json!({"files": [{"path": "a"}, {"path": ".env"}]}),
                vec![read("/w/a"), read("/w/.env")],
            ),
            ("view", json!({"path": "a", "file": ".env"}), vec![read("/w/a"), read("/w/.env")]),
            ("Read", json!({"file_path": "a", "path": ".env"}), vec![read("/w/a"), read("/w/.env")]),
        ] {
            let found = split_for("Read", name, input.clone());
            let files: Vec<_> = calls(&found)
                .into_iter()
                .map(|(name, input)| (name, input["file_path"].as_str().unwrap().to_owned()))
                .collect();
            assert_eq!(files, want, "{name} {input}");
            assert_eq!(found.beyond, None, "{name} {input}");
        }
        for pattern in ["**/*", "src/", ".", "{a,.env}"] {
            let found = split_for("Read", "read_many_files", json!({"include": ["a", pattern]}));
            assert!(found.beyond.is_some_and(|it| it.contains("is not known")), "{pattern}");
        }
    }

    #[test]
    fn a_call_of_one_file_stays_as_it_is() {
        for (name, input) in [
            ("Edit", json!({"file_path": "/w/a"})),
            ("read_file", json!({"absolute_path": "/w/a"})),
            ("create", json!({"path": "a"})),
            ("view", json!({"path": 5})),
            ("bash", json!({"command": PATCH})),
            ("grep", json!({"path": "a", "file": "b"})),
            ("mcp__x__apply_patch", json!({"command": PATCH})),
        ] {
            let found = split_for("*", name, input.clone());
            assert_eq!(calls(&found), [(name.to_owned(), input)]);
            assert!(!found.in_parts && found.beyond.is_none(), "{name}");
        }
    }

    #[test]
    fn a_call_that_cannot_be_split_has_a_reason() {
        let found = split_for("Edit", "apply_patch", json!({"command": "--- a/.env\n+++ b/.env\n"}));
        assert!(found.events.is_empty() && found.beyond.is_some(), "{found:?}");
        let many: String = (0..100_000).map(|n| format!("*** Add File: {n}\n+x\n")).collect();
        let found = split_for("Write", "apply_patch", json!({ "command": many }));
        assert_eq!(found.events.len(), MAX_FILES);
        assert!(found.beyond.is_some_and(|it| it.contains("more than 32 files")));
        let many: Vec<String> = (0..1000).map(|n| n.to_string()).collect();
        let found = split_for("Read", "read_many_files", json!({ "paths": many }));
        assert_eq!((found.events.len(), found.beyond.is_some()), (MAX_FILES, true));
        // A line of a file that looks like a head hides neither file.
        let sly = "*** Update File: a\n *** Update File: b\n+secret\n";
        let found = calls(&split_for("Edit", "apply_patch", json!({ "command": sly })));
        assert!(found.iter().all(|(_, input)| input["new_string"] == "secret\n"), "{found:?}");
    }
}
