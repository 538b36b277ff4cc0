//! Translates a tool call into Claude Code's words, and an answer about it back into the agent's own.
//!
//! Only sure cases are translated: the line of a shell tool, the one file of a file tool, the texts of a
//! write or an edit. Everything else stays as in the agent's call. A field with Claude Code's own name stays
//! unchanged, except for a path, which becomes absolute as in Claude Code. Only if that field is absent,
//! another field with this meaning is used, under any name of the tool: another agent's `Write` has other
//! fields.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::event::{ToolCall, ToolResult};

/// Fields of a text (plain, see [`hookbox_calls::plain`]) and what Claude Code calls them, by its name of the tool.
const TEXTS: [(&str, &[&str], &str); 3] = [
    ("Write", &["text", "filetext", "contents"], "content"),
    ("Edit", &["oldtext", "oldstr", "oldstring"], "old_string"),
    ("Edit", &["newtext", "newstr", "newstring"], "new_string"),
];

/// A value that Claude Code would show under a name of its own, in the place of the agent's fields.
struct Translated {
    to: &'static str,
    from: Vec<String>,
    value: Value,
}

/// The tool's name and input as a hook of Claude Code expects them.
pub fn call(call: &ToolCall, cwd: &str) -> (String, Value) {
    let name = super::tool_name(&call.name).into_owned();
    let translated = translate(call, cwd);
    let Value::Object(object) = call.input.value() else {
        let line = translated.into_iter().next();
        let input = line.map_or_else(|| call.input.value().clone(), |line| json!({ line.to: line.value }));
        return (name, input);
    };
    let mut input = Map::new();
    for (field, value) in object {
        // Its value is unusable, since another field took its place.
        if translated.iter().any(|it| it.to == field && !it.from.contains(field)) {
            continue;
        }
        match translated.iter().find(|it| it.from.contains(field)) {
            Some(it) => input.entry(it.to).or_insert_with(|| it.value.clone()),
            None => input.entry(field.clone()).or_insert_with(|| value.clone()),
        };
    }
    (name, Value::Object(input))
}

/// Translates the input that a hook of Claude Code changed into the fields of the agent's tool. A field that
/// the hook did not change keeps its value.
pub fn restore(call: &ToolCall, cwd: &str, updated: Value) -> Value {
    let Value::Object(mut updated) = updated else { return updated };
    for it in translate(call, cwd) {
        let Some(new) = updated.shift_remove(it.to) else { continue };
        if it.from.is_empty() {
            // The whole input was a line.
            if updated.is_empty() {
                return if new == it.value {
                    call.input.value().clone()
                } else {
                    rewritten(call.input.value(), new)
                };
            }
            updated.insert(it.to.to_owned(), new);
            continue;
        }
        for field in it.from {
            let Some(original) = call.input.value().get(&field) else { continue };
            let value = match &new {
                new if *new == it.value => original.clone(),
                new if hookbox_calls::is_list_of_commands(&call.name, &field) => json!([new]),
                new => rewritten(original, new.clone()),
            };
            updated.insert(field, value);
        }
    }
    Value::Object(updated)
}

/// Returns the output of a tool as a hook of Claude Code reads it: the text of a shell tool in the fields of
/// Claude Code's own, and any other output unchanged.
pub(super) fn response(result: &ToolResult) -> Value {
    match result.output.value() {
        Value::String(text) if super::tool_name(&result.call.name) == "Bash" => shell_response(text),
        output => output.clone(),
    }
}

/// Returns this text as the output of Claude Code's shell tool.
pub fn shell_response(text: &str) -> Value {
    json!({
        "stdout": text, "stderr": "", "interrupted": false, "isImage": false, "noOutputExpected": false,
    })
}

/// Returns an output that a hook of Claude Code changed: as text if only Claude Code has the fields of it.
pub(super) fn restore_response(original: &Value, changed: Value) -> Value {
    let text = |name: &str| changed.get(name).and_then(Value::as_str);
    let (Some(stdout), None) = (text("stdout"), original.get("stdout")) else { return changed };
    match text("stderr") {
        None | Some("") => stdout.into(),
        Some(stderr) if stdout.is_empty() => stderr.into(),
        Some(stderr) => format!("{stdout}\n{stderr}").into(),
    }
}

fn translate(call: &ToolCall, cwd: &str) -> Vec<Translated> {
    let claude = super::tool_name(&call.name);
    let input = call.input.value();
    let Value::Object(object) = input else {
        let line = if claude == "Bash" { hookbox_calls::command_of(&call.name, input) } else { None };
        return line
            .map(|line| Translated { to: "command", from: Vec::new(), value: line.into() })
            .into_iter()
            .collect();
    };
    match &*claude {
        "Bash" | "PowerShell" | "Monitor"
            if claude == call.name && object.get("command").is_some_and(Value::is_string) =>
        {
            Vec::new()
        }
        "Bash" | "PowerShell" | "Monitor" => command(call, object).into_iter().collect(),
        "Read" | "Write" | "Edit" | "MultiEdit" => {
            let file = one(object, "file_path", hookbox_calls::is_file);
            let mut all: Vec<_> = file.and_then(|field| path(object, field, cwd)).into_iter().collect();
            for (_, names, to) in TEXTS.iter().filter(|(tool, ..)| *tool == claude) {
                let field = one(object, to, |field| names.contains(&hookbox_calls::plain(field).as_str()));
                if let Some((field, value)) =
                    field.and_then(|field| Some((field.clone(), object.get(&field)?.clone())))
                    && field != *to
                {
                    all.push(Translated { to, from: vec![field], value });
                }
            }
            all
        }
        _ => Vec::new(),
    }
}

/// The line of a shell tool, from whichever fields hold it.
fn command(call: &ToolCall, object: &Map<String, Value>) -> Option<Translated> {
    let line = hookbox_calls::command_of(&call.name, call.input.value())?;
    let holds = |(field, value): &(&String, &Value)| {
        hookbox_calls::is_command(&call.name, field) || (*field == "action" && value.get("command").is_some())
    };
    let from: Vec<String> = object.iter().filter(holds).map(|(field, _)| field.clone()).collect();
    let is_plain = from.len() == 1 && object.get("command").is_some_and(Value::is_string);
    (!is_plain && !from.is_empty()).then(|| Translated { to: "command", from, value: line.into() })
}

/// A path as Claude Code shows it: from the root on.
pub(super) fn absolute(given: &str, cwd: &str) -> String {
    let is_relative = Path::new(given).is_relative() && !given.starts_with('~') && !given.is_empty();
    if is_relative && Path::new(cwd).is_absolute() {
        Path::new(cwd).join(given.strip_prefix("./").unwrap_or(given)).to_string_lossy().into_owned()
    } else {
        given.to_owned()
    }
}

/// The one file, absolute.
fn path(object: &Map<String, Value>, field: String, cwd: &str) -> Option<Translated> {
    let given = object.get(&field)?.as_str()?;
    let shown = absolute(given, cwd);
    (field != "file_path" || shown != given).then(|| Translated {
        to: "file_path",
        from: vec![field],
        value: shown.into(),
    })
}

/// Returns the only string field with this meaning; a field with Claude Code's name has been used before.
fn one(object: &Map<String, Value>, name: &str, means: impl Fn(&str) -> bool) -> Option<String> {
    if object.get(name).is_some_and(Value::is_string) {
        return Some(name.to_owned());
    }
    let mut fields = object.iter().filter(|(field, value)| means(field) && value.is_string());
    let (field, _) = fields.next()?;
    fields.next().is_none().then(|| field.clone())
}

/// Gives a new value the form of the old one: an agent that takes a command as words gets words.
fn rewritten(original: &Value, new: Value) -> Value {
    match (original, &new) {
        (Value::Array(words), Value::String(line)) => {
            let shell = words.first().filter(|_| words.len() == 3).and_then(Value::as_str);
            let flag = words
                .get(1)
                .and_then(Value::as_str)
                .filter(|flag| flag.starts_with('-') && flag.ends_with('c'));
            json!([shell.filter(|_| flag.is_some()).unwrap_or("sh"), flag.unwrap_or("-c"), line])
        }
        (Value::Object(action), _) => {
            let mut action = action.clone();
            if let Some(command) = action.get("command").map(|command| rewritten(command, new)) {
                action.insert("command".to_owned(), command);
            }
            Value::Object(action)
        }
        _ => new,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str, input: Value) -> (String, Value) {
        call(&ToolCall::new(name, input), "/w")
    }

    #[test]
    fn a_call_is_shown_in_claude_codes_words() {
        for (name, input, want_name, want) in [
            ("bash", json!({"command": "ls", "timeout": 5}), "Bash", json!({"command": "ls", "timeout": 5})),
            (
                "exec_command",
                json!({"x": 1, "cmd": "ls", "y": 2}),
                "Bash",
                json!({"x": 1, "command": "ls", "y": 2}),
            ),
            ("shell", json!({"command": ["bash", "-lc", "ls | wc"]}), "Bash", json!({"command": "ls | wc"})),
            ("run_commands", json!({"commands": ["ls", "rm x"]}), "Bash", json!({"command": "ls\nrm x"})),
            ("shell", json!({"command": ["rm", "-rf", "a b"]}), "Bash", json!({"command": "rm -rf 'a b'"})),
            (
                "local_shell",
                json!({"action": {"type": "exec", "command": ["ls"]}}),
                "Bash",
                json!({"command": "ls"}),
            ),
            ("bash", json!({"command": "ls", "cmd": "rm"}), "Bash", json!({"command": "ls\nrm"})),
            ("bash", json!("{\"command\": \"ls"), "Bash", json!({"command": "{\"command\": \"ls"})),
            (
                "file_write",
                json!({"file_path": "/a", "text": "t"}),
                "Write",
                json!({"file_path": "/a", "content": "t"}),
            ),
            (
                "edit",
                json!({"filePath": "a", "oldString": "o", "newString": "n"}),
                "Edit",
                json!({"file_path": "/w/a", "old_string": "o", "new_string": "n"}),
            ),
            (
                "Write",
                json!({"file_path": "./a", "content": "c", "text": "t"}),
                "Write",
                json!({"file_path": "/w/a", "content": "c", "text": "t"}),
            ),
            // The names of another agent may be Claude Code's while its fields are not.
            (
                "Write",
                json!({"path": ".env", "contents": "t"}),
                "Write",
                json!({"file_path": "/w/.env", "content": "t"}),
            ),
            (
                "Write",
                json!({"file_path": null, "path": ".env", "content": null, "contents": "t"}),
                "Write",
                json!({"file_path": "/w/.env", "content": "t"}),
            ),
            (
                "Edit",
                json!({"target_file": "a", "old_str": "o", "new_str": "n"}),
                "Edit",
                json!({"file_path": "/w/a", "old_string": "o", "new_string": "n"}),
            ),
            ("Read", json!({"path": ".env"}), "Read", json!({"file_path": "/w/.env"})),
            ("Bash", json!({"cmd": "ls"}), "Bash", json!({"command": "ls"})),
            ("Bash", json!({"command": "ls", "cmd": "rm"}), "Bash", json!({"command": "ls", "cmd": "rm"})),
            ("Bash", json!("text"), "Bash", json!({"command": "text"})),
            ("read_many_files", json!({"paths": ["a", "b"]}), "Read", json!({"paths": ["a", "b"]})),
            ("view", json!({"path": "a", "file": "b"}), "Read", json!({"path": "a", "file": "b"})),
            ("view", json!({"path": 5}), "Read", json!({"path": 5})),
            ("view", json!({"path": "~/a"}), "Read", json!({"file_path": "~/a"})),
            ("mcp__t__echo", json!({"text": "yo"}), "mcp__t__echo", json!({"text": "yo"})),
            ("", Value::Null, "", Value::Null),
        ] {
            assert_eq!(shown(name, input.clone()), (want_name.to_owned(), want), "{name} {input}");
        }
    }

    #[test]
    fn what_a_hook_left_alone_comes_back_as_it_was() {
        for (name, input) in [
            ("bash", json!({"command": "ls"})),
            ("bash", json!("no json")),
            ("bash", json!(["ls", "-l"])),
            ("shell", json!({"command": ["bash", "-lc", "ls"], "cwd": "/"})),
            ("local_shell", json!({"action": {"type": "exec", "command": ["ls"]}})),
            ("bash", json!({"command": "ls", "cmd": "rm"})),
            ("edit", json!({"filePath": "a", "oldString": "o", "newString": "n"})),
            ("Write", json!({"file_path": "a"})),
            ("Write", json!({"path": ".env", "contents": "t"})),
            ("Bash", json!("text")),
        ] {
            let call = ToolCall::new(name, input.clone());
            let (_, shown) = super::call(&call, "/w");
            assert_eq!(restore(&call, "/w", shown), input, "{name}");
        }
    }

    #[test]
    fn a_changed_output_of_a_shell_comes_back_as_the_text_that_it_was() {
        for (original, changed, want) in [
            (json!("a"), json!({"stdout": "b", "stderr": ""}), json!("b")),
            (json!("a"), json!({"stdout": "b", "stderr": "c"}), json!("b\nc")),
            (json!({"llmContent": "a"}), json!({"stdout": "", "stderr": "c"}), json!("c")),
            (json!("a"), json!("b"), json!("b")),
            (json!({"stdout": "a"}), json!({"stdout": "b"}), json!({"stdout": "b"})),
            (json!({"x": 1}), json!({"x": 2}), json!({"x": 2})),
        ] {
            assert_eq!(restore_response(&original, changed.clone()), want, "{original} {changed}");
        }
    }

    #[test]
    fn what_a_hook_changed_comes_back_in_the_agents_form() {
        for (name, input, updated, want) in [
            ("exec_command", json!({"cmd": "ls"}), json!({"command": "pwd"}), json!({"cmd": "pwd"})),
            (
                "shell",
                json!({"command": ["bash", "-lc", "ls"]}),
                json!({"command": "pwd"}),
                json!({"command": ["bash", "-lc", "pwd"]}),
            ),
            (
                "shell",
                json!({"command": ["ls", "-l"]}),
                json!({"command": "a && b"}),
                json!({"command": ["sh", "-c", "a && b"]}),
            ),
            (
                "run_commands",
                json!({"commands": ["ls", "rm -rf x", "id"]}),
                json!({"command": "pwd"}),
                json!({"commands": ["pwd"]}),
            ),
            (
                "local_shell",
                json!({"action": {"type": "exec", "command": ["ls"]}}),
                json!({"command": "pwd"}),
                json!({"action": {"type": "exec", "command": ["sh", "-c", "pwd"]}}),
            ),
            (
                "file_write",
                json!({"file_path": "a", "text": "t"}),
                json!({"file_path": "/w/a", "content": "new"}),
                json!({"file_path": "a", "text": "new"}),
            ),
            (
                "Write",
                json!({"path": "a", "contents": "t"}),
                json!({"file_path": "/w/b", "content": "new"}),
                json!({"path": "/w/b", "contents": "new"}),
            ),
            ("bash", json!("no json"), json!({"command": "pwd"}), json!("pwd")),
            (
                "Bash",
                json!({"command": "ls"}),
                json!({"command": "pwd", "x": 1}),
                json!({"command": "pwd", "x": 1}),
            ),
            ("bash", json!({"cmd": "ls"}), json!({}), json!({})),
        ] {
            let found = restore(&ToolCall::new(name, input.clone()), "/w", updated);
            assert_eq!(found, want, "{name} {input}");
        }
    }
}
