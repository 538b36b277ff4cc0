//! The line of a shell tool.

use serde_json::Value;

use crate::text;

/// The fields that hold a line, in the form of [`super::plain`].
const FIELDS: [&str; 5] = ["command", "cmd", "script", "shellcommand", "commandline"];

/// Tools that type into a shell that is already running, and the field with what they type.
const TYPING: [(&str, &str); 3] =
    [("writestdin", "chars"), ("writebash", "input"), ("writepowershell", "input")];

/// The tool that runs several lines, and the field with the list of them: Cline's run_commands.
const LINES: (&str, &str) = ("runcommands", "commands");

/// The shells whose `-c` is looked into.
const SHELLS: [&str; 7] = ["sh", "bash", "zsh", "dash", "ksh", "ash", "fish"];

/// The line that a shell tool of this (plain) name would run.
pub(super) fn line(tool: &str, input: &Value) -> Option<String> {
    let object = match input {
        Value::String(line) => return Some(line.clone()),
        Value::Array(_) => return words(input),
        Value::Object(object) => object,
        _ => return None,
    };
    let mut lines: Vec<String> = Vec::new();
    for (name, value) in object {
        let name = super::plain(name);
        let line = if is_list(tool, &name) {
            each(value)
        } else if is_line(tool, &name) {
            words(value)
        } else if name == "action" {
            // The call of Codex' local_shell: {"action": {"type": "exec", "command": […]}}
            value.get("command").and_then(words)
        } else {
            None
        };
        lines.extend(line.filter(|line| !lines.contains(line)));
    }
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Returns true if a field of a shell tool is its command line. Both names are plain.
pub(super) fn is_line(tool: &str, field: &str) -> bool {
    FIELDS.contains(&field) || TYPING.contains(&(tool, field)) || is_list(tool, field)
}

/// Returns true if a field of a shell tool has a list of lines. Both names are plain.
pub(super) fn is_list(tool: &str, field: &str) -> bool {
    (tool, field) == LINES
}

/// The lines of a list, one after another; each of them is a line or words.
fn each(value: &Value) -> Option<String> {
    let Value::Array(lines) = value else { return words(value) };
    let line = |it: &Value| words(it).or_else(|| line("", it)).unwrap_or_else(|| it.to_string());
    let lines: Vec<String> = lines.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// A line as text or as words.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) if !words.is_empty() => {
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
    if !SHELLS.contains(&shell.rsplit('/').next()?) {
        return None;
    }
    let mut rest = rest.iter();
    let mut has_c = false;
    while let Some(word) = rest.next() {
        match word.strip_prefix('-') {
            Some(flags) if flags.starts_with('-') || flags.is_empty() => return None,
            Some(flags) => {
                has_c |= flags.contains('c');
                if flags.ends_with(['o', 'O']) {
                    rest.next();
                }
            }
            None => return has_c.then_some(word.as_str()),
        }
    }
    None
}

/// Joins words to a line, quoted for a shell so that each stays visible as one word.
fn join(words: &[String]) -> String {
    words.iter().map(|word| text::shell_word(word)).collect::<Vec<_>>().join(" ")
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
        ] {
            assert_eq!(line(tool, &input).as_deref(), Some(want), "{input}");
        }
    }

    #[test]
    fn a_second_field_hides_no_command() {
        let both = json!({"command": "ls", "cmd": "rm -rf /", "script": "ls"});
        assert_eq!(line("bash", &both).as_deref(), Some("ls\nrm -rf /"));
    }

    #[test]
    fn what_holds_no_line_has_none() {
        for input in [json!({}), json!({"command": []}), json!({"command": null}), json!({"chars": "x"})] {
            assert_eq!(line("bash", &input), None, "{input}");
        }
    }
}
