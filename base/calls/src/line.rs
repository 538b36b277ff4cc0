//! The line of a shell tool.

use std::collections::HashSet;

use hookbox_shell::{ShellWords, base_name, is_in, quoted};
use serde_json::Value;

use crate::kinds::{claude_names, plain};

/// The fields that hold a line, in the form of [`plain`].
const FIELDS: [&str; 5] = ["command", "cmd", "script", "shellcommand", "commandline"];

/// Tools that type into a shell that is already running, and the field with what they type.
const TYPING: [(&str, &str); 3] =
    [("writestdin", "chars"), ("writebash", "input"), ("writepowershell", "input")];

/// The tool that runs several lines, and the field with the list of them.
const LINES: (&str, &str) = ("runcommands", "commands");

/// The shells whose `-c` is looked into.
const SHELLS: &str = "sh bash zsh dash ksh ash fish";

/// Words that make the lines after them a part of their own command.
const OPENING: [&str; 4] = ["case", "for", "select", "function"];

/// Returns the line that a shell tool would run, whatever the field is called. `None` if its input has none in a known shape.
///
/// An array of words is joined, quoted if needed; of `["bash", "-lc", "ls"]` the script is the line. Of several fields or
/// lines it has all, one a line, because nobody knows which of them the tool obeys. A line that could take a part of the
/// next one, such as one with a quote, is written as `eval 'LINE'`.
pub fn command_of(tool: &str, input: &Value) -> Option<String> {
    line(&plain(tool), input)
}

/// Returns true if a field of a shell tool's input holds its line, or a part of it.
pub fn is_command(tool: &str, field: &str) -> bool {
    is_line(&plain(tool), &plain(field))
}

/// Returns true if a field of a shell tool's input has a list of lines.
pub fn is_list_of_commands(tool: &str, field: &str) -> bool {
    is_list(&plain(tool), &plain(field))
}

/// Returns the line of a shell tool as one that a shell runs: that of a tool for PowerShell is a script for it.
pub fn as_shell(tool: &str, line: &str) -> String {
    let is_powershell = claude_names(tool).any(|it| it == "PowerShell");
    if is_powershell { format!("pwsh -c {}", quoted(line)) } else { line.to_owned() }
}

/// Returns the line that a shell tool of this (plain) name would run. Several lines are one text, in which each
/// of them means the same as alone.
fn line(tool: &str, input: &Value) -> Option<String> {
    let mut lines: Vec<String> = Vec::new();
    collect(tool, input, 0, &mut lines);
    if lines.len() > 1 {
        let mut seen = HashSet::new();
        lines.retain(|line| seen.insert(line.clone()));
    }
    match &lines[..] {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(lines.iter().map(|line| alone(line)).collect::<Vec<_>>().join("\n")),
    }
}

/// Adds the lines of a tool's input, or of one entry in a list of lines.
fn collect(tool: &str, input: &Value, depth: usize, lines: &mut Vec<String>) {
    let Value::Object(object) = input else {
        return match tool == LINES.0 {
            true => each(tool, input, depth, lines),
            false => lines.extend(words(input)),
        };
    };
    for (field, value) in object {
        let field = plain(field);
        if is_list(tool, &field) {
            each(tool, value, depth, lines);
        } else if is_line(tool, &field) {
            read(value, object.get("args"), lines);
        } else if field == "action" {
            // A call of local_shell: {"action": {"type": "exec", "command": […]}}
            lines.extend(value.get("command").and_then(words));
        }
    }
}

/// Adds each line of a list, or one line.
fn each(tool: &str, value: &Value, depth: usize, lines: &mut Vec<String>) {
    match value {
        Value::Array(entries) if depth == 0 => {
            entries.iter().for_each(|entry| each(tool, entry, depth + 1, lines));
        }
        Value::Object(_) if depth < 2 => collect(tool, value, depth + 1, lines),
        _ => read(value, None, lines),
    }
}

/// Adds a line, with the arguments beside it. Of any other shape, each text is a line, and all of them are one.
fn read(value: &Value, args: Option<&Value>, lines: &mut Vec<String>) {
    let line = match (value, args) {
        (_, None | Some(Value::Null)) => words(value),
        (Value::String(line), Some(Value::String(args))) => Some(format!("{line} {args}")),
        (value, Some(args)) => {
            let list = |it: &Value| it.as_array().cloned().unwrap_or_else(|| vec![it.clone()]);
            words(&[list(value), list(args)].concat().into())
        }
    };
    let mut found = Vec::new();
    if line.is_none() {
        texts(value, &mut found);
        args.iter().for_each(|args| texts(args, &mut found));
        found.push(found.join(" "));
    }
    lines.extend(line.into_iter().chain(found).filter(|line| !line.is_empty()));
}

/// Adds every text and number in a value.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::Array(values) => values.iter().for_each(|it| texts(it, found)),
        Value::Object(fields) => fields.values().for_each(|it| texts(it, found)),
        scalar => found.push(word(scalar)),
    }
}

/// Returns a line in a form that takes nothing of the lines after it: a quote, a here-document or a comment ends
/// with it.
fn alone(line: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " _./:@=+,%&|;-".contains(c);
    let opens = line.split([' ', '&', '|', ';']).any(|word| OPENING.contains(&word));
    if line.chars().all(is_plain) && !opens { line.to_owned() } else { format!("eval {}", quoted(line)) }
}

/// Returns true if a field of a shell tool is its command line. Both names are plain.
fn is_line(tool: &str, field: &str) -> bool {
    FIELDS.contains(&field) || TYPING.contains(&(tool, field)) || is_list(tool, field)
}

/// Returns true if a field of a shell tool has a list of lines. Both names are plain.
fn is_list(tool: &str, field: &str) -> bool {
    (tool, field) == LINES
}

/// A line as text or as words; `None` for any other shape.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(line) => Some(line.clone()),
        Value::Array(words)
            if !words.is_empty() && !words.iter().any(|it| it.is_array() || it.is_object()) =>
        {
            let words: Vec<String> = words.iter().map(word).collect();
            Some(script(&words).map_or_else(|| join(&words), str::to_owned))
        }
        _ => None,
    }
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The script of `bash -c SCRIPT` and its like; `None` where the words are anything else.
fn script(words: &[String]) -> Option<&str> {
    let (shell, rest) = words.split_first()?;
    let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
    let read = ShellWords::of(&rest);
    let is_script = is_in(SHELLS, base_name(shell)) && read.letters.contains('c') && read.names.is_empty();
    read.operands.first().copied().filter(|_| is_script)
}

/// Joins words to a line, quoted for a shell so that each stays visible as one word.
fn join(words: &[String]) -> String {
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_line_is_found_whatever_the_agent_calls_it() {
        for (tool, input, want) in [
            ("bash", json!({"command": "ls -la", "description": "x"}), "ls -la"),
            ("execcommand", json!({"cmd": "ls"}), "ls"),
            ("shell", json!({"script": "ls"}), "ls"),
            ("shell", json!({"shellCommand": "ls"}), "ls"),
            ("shell", json!({"command": ["bash", "-lc", "ls | wc"]}), "ls | wc"),
            ("shell", json!({"command": ["/bin/bash", "-euo", "pipefail", "-c", "a && b", "x"]}), "a && b"),
            ("shell", json!({"command": ["bash", "-c", "-l", "ls"]}), "ls"),
            ("shell", json!({"command": ["bash", "run.sh", "-c"]}), "bash run.sh -c"),
            ("shell", json!({"command": ["bash", "--", "-c", "x"]}), "bash -- -c x"),
            (
                "shell",
                json!({"command": ["git", "commit", "-m", "it's a b", ""]}),
                r"git commit -m 'it'\''s a b' ''",
            ),
            ("shell", json!({"command": ["echo", 5]}), "echo 5"),
            ("localshell", json!({"action": {"type": "exec", "command": ["ls", "-l"]}}), "ls -l"),
            ("writestdin", json!({"session_id": 1, "chars": "rm x\n"}), "rm x\n"),
            ("bash", json!("{\"command\": \"ls"), "{\"command\": \"ls"),
            ("bash", json!(["rm", "-rf", "/"]), "rm -rf /"),
            ("runcommands", json!({"commands": ["cd a && ls", "rm x"]}), "cd a && ls\nrm x"),
            ("runcommands", json!({"commands": [{"command": "rm x"}, ["rm", "y"], 5]}), "rm x\nrm y\n5"),
            ("runcommands", json!({"commands": "rm x"}), "rm x"),
            ("runcommands", json!({"commands": {"command": "rm x"}}), "rm x"),
            ("runcommands", json!({"commands": [{"command": "rm", "args": ["-rf", "a b"]}]}), "rm -rf 'a b'"),
            ("runcommands", json!({"command": "rm", "args": ["-rf", "x"]}), "rm -rf x"),
            ("runcommands", json!([{"command": "rm", "args": ["-rf", "x"]}]), "rm -rf x"),
            ("runcommands", json!(["ls", "rm -rf x"]), "ls\nrm -rf x"),
            ("runcommands", json!("rm x"), "rm x"),
            ("bash", json!({"command": "bash", "args": ["-c", "rm x"]}), "rm x"),
            ("bash", json!({"command": "rm", "args": "-rf x"}), "rm -rf x"),
            ("bash", json!({"command": ["rm"], "args": ["-rf", "x"]}), "rm -rf x"),
            ("bash", json!({"command": "ls", "script": {"a": "rm x"}}), "ls\nrm x"),
            ("bash", json!({"command": "ls", "cmd": [["rm", "x"]]}), "ls\nrm\nx\nrm x"),
            ("runcommands", json!({"commands": ["ls", {"command": {"a": "rm x"}}]}), "ls\nrm x"),
            ("runcommands", json!({"commands": [[["rm x"]]]}), "rm x"),
        ] {
            assert_eq!(line(tool, &input).as_deref(), Some(want), "{input}");
        }
    }

    #[test]
    fn the_line_of_a_tool_for_powershell_is_a_script_for_it() {
        for (tool, want) in
            [("PowerShell", "pwsh -c 'ri x'"), ("write_powershell", "pwsh -c 'ri x'"), ("Bash", "ri x")]
        {
            assert_eq!(as_shell(tool, "ri x"), want, "{tool}");
        }
    }

    #[test]
    fn a_second_field_hides_no_command() {
        let both = json!({"command": "ls", "cmd": "rm -rf /", "script": "ls"});
        assert_eq!(line("bash", &both).as_deref(), Some("ls\nrm -rf /"));
    }

    #[test]
    fn no_line_takes_a_part_of_the_next() {
        for (open, want) in [
            ("cat <<X", "eval 'cat <<X'\nrm x"),
            ("echo '", "eval 'echo '\\'''\nrm x"),
            ("echo \\", "eval 'echo \\'\nrm x"),
            ("ls # a", "eval 'ls # a'\nrm x"),
            ("case x in", "eval 'case x in'\nrm x"),
            ("cd a && ls | wc", "cd a && ls | wc\nrm x"),
        ] {
            for (tool, input) in [
                ("runcommands", json!({"commands": [open, "rm x"]})),
                ("runcommands", json!([open, "rm x"])),
                ("bash", json!({"cmd": open, "command": "rm x"})),
            ] {
                assert_eq!(line(tool, &input).as_deref(), Some(want), "{input}");
            }
        }
    }

    #[test]
    fn what_holds_no_line_has_none() {
        for input in [
            json!({}),
            json!([["rm x"]]),
            json!({"command": []}),
            json!({"command": null}),
            json!({"chars": "x"}),
        ] {
            assert_eq!(line("bash", &input), None, "{input}");
        }
    }
}
