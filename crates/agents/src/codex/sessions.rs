//! The session files of Codex: `~/.codex/sessions/**/rollout-*.jsonl`, in three generations:
//! items without a wrapper, items in `payload`, and scripts that make the calls.

use hookbox_journal::session_files::{Format, Found, Lines, PastCall, text};
use serde_json::{Map, Number, Value, json};

/// The types of items that an old file has without a wrapper.
const BARE: [&str; 4] = ["function_call", "function_call_output", "local_shell_call", "custom_tool_call"];

/// Returns true for a line of an old file.
fn is_bare(line: &Value) -> bool {
    let kind = line.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| BARE.contains(&kind))
        || line.get("record_type").is_some()
        || line.get("id").is_some() && line.get("timestamp").is_some() && line.get("instructions").is_some()
}

pub(super) static SESSIONS: Format = Format {
    name: "codex",
    directories: |home, variable| {
        let codex = variable("CODEX_HOME").unwrap_or_else(|| home.join(".codex"));
        vec![codex.join("sessions"), codex.join("archived_sessions")]
    },
    has_line: |line| line.get("payload").is_some() || is_bare(line),
    lines: || Box::<Codex>::default(),
};

/// Lines of Codex.
#[derive(Default)]
struct Codex {
    session: Option<String>,
    directory: Option<String>,
    mode: Option<String>,
}

impl Lines for Codex {
    fn line(&mut self, line: &Value, found: &mut Vec<Found>) {
        let item = line.get("payload").unwrap_or(line);
        match line.get("type").and_then(Value::as_str) {
            Some("session_meta") => {
                self.session = text(item, "/id");
                self.directory = text(item, "/cwd");
            }
            Some("turn_context") => {
                self.directory = text(item, "/cwd").or_else(|| self.directory.take());
                self.mode = text(item, "/approval_policy");
            }
            None if self.session.is_none() => self.session = text(item, "/id"),
            Some("response_item") => self.item(item, line, found),
            Some(kind) if BARE.contains(&kind) => self.item(item, line, found),
            _ => {}
        }
    }
}

impl Codex {
    fn item(&self, item: &Value, line: &Value, found: &mut Vec<Found>) {
        let tool = text(item, "/name").unwrap_or_default();
        let kind = item.get("type").and_then(Value::as_str);
        let (tool, judged) = match kind {
            Some("function_call") => {
                let input = text(item, "/arguments").and_then(|it| serde_json::from_str(&it).ok());
                (tool.clone(), input.map(|input| vec![(tool, input)]))
            }
            Some("custom_tool_call") if tool == "exec" => {
                let calls = text(item, "/input").and_then(|it| calls(&it));
                (tool, calls)
            }
            Some("custom_tool_call") => {
                (tool.clone(), text(item, "/input").map(|it| vec![(tool, it.into())]))
            }
            Some("local_shell_call") => {
                let command = item.pointer("/action/command").cloned();
                let workdir = item.pointer("/action/working_directory").cloned();
                let input = command.map(|command| json!({"command": command, "workdir": workdir}));
                ("shell".to_owned(), input.map(|input| vec![("shell".to_owned(), input)]))
            }
            _ => return,
        };
        let is_script = kind == Some("custom_tool_call") && tool == "exec";
        let workdir = judged.iter().flatten().find_map(|(_, input)| text(input, "/workdir"));
        found.push(Found::Call(PastCall {
            id: text(item, "/call_id").or_else(|| text(item, "/id")),
            tool,
            judged,
            is_script,
            directory: self.directory_of(workdir),
            session: self.session.clone(),
            time: text(line, "/timestamp"),
            mode: self.mode.clone(),
        }));
    }

    /// Returns the directory of a call that names one.
    fn directory_of(&self, workdir: Option<String>) -> Option<String> {
        match (workdir, &self.directory) {
            (Some(it), Some(base)) if !it.starts_with('/') => Some(format!("{base}/{it}")),
            (Some(it), _) => Some(it),
            (None, base) => base.clone(),
        }
    }
}

/// The deepest nesting of values.
const MAX_DEPTH: usize = 32;

/// Returns the calls of `tools`, each with its name and its argument. Returns nothing if the script uses `tools` in
/// another way, or with an argument that is no literal.
///
/// The calls in a script of Codex's tool `exec`: JavaScript such as `await tools.exec_command({cmd: "ls"})`.
fn calls(script: &str) -> Option<Vec<(String, Value)>> {
    let (mut calls, mut rest) = (Vec::new(), script);
    while let Some(at) = rest.find("tools") {
        let (before, after) = rest.split_at(at);
        rest = after.strip_prefix("tools")?;
        if before.ends_with(is_name) || rest.starts_with(is_name) {
            continue;
        }
        let mut reader = Literals { rest };
        let name = reader.call()?;
        let input = reader.value(0)?;
        reader.after(')')?;
        rest = reader.rest;
        calls.push((name, input));
    }
    Some(calls)
}

fn is_name(it: char) -> bool {
    it.is_alphanumeric() || it == '_' || it == '$'
}

/// Reads literals from the beginning of a text.
struct Literals<'a> {
    rest: &'a str,
}

impl<'a> Literals<'a> {
    /// Reads `.name(`.
    fn call(&mut self) -> Option<String> {
        self.after('.')?;
        let name = self.name()?;
        self.after('(')?;
        Some(name.to_owned())
    }

    /// Reads a letter, after spaces and comments.
    fn after(&mut self, letter: char) -> Option<()> {
        self.skip();
        self.rest = self.rest.strip_prefix(letter)?;
        Some(())
    }

    fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            let end = match self.rest.get(..2) {
                Some("//") => self.rest.find('\n'),
                Some("/*") => self.rest.find("*/").map(|at| at + 2),
                _ => return,
            };
            self.rest = end.and_then(|at| self.rest.get(at..)).unwrap_or_default();
        }
    }

    fn name(&mut self) -> Option<&'a str> {
        self.skip();
        let end = self.rest.find(|it| !is_name(it)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!name.is_empty()).then_some(name)
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        if depth > MAX_DEPTH {
            return None;
        }
        self.skip();
        match self.rest.chars().next()? {
            '{' => self.object(depth),
            '[' => self.array(depth),
            quote @ ('"' | '\'' | '`') => self.string(quote).map(Value::String),
            '0'..='9' | '-' => self.number(),
            _ => match self.name()? {
                "true" => Some(Value::Bool(true)),
                "false" => Some(Value::Bool(false)),
                "null" | "undefined" => Some(Value::Null),
                _ => None,
            },
        }
    }

    fn object(&mut self, depth: usize) -> Option<Value> {
        self.after('{')?;
        let mut fields = Map::new();
        while self.after('}').is_none() {
            self.skip();
            let key = match self.rest.chars().next()? {
                quote @ ('"' | '\'') => self.string(quote)?,
                _ => self.name()?.to_owned(),
            };
            self.after(':')?;
            fields.insert(key, self.value(depth + 1)?);
            if self.after(',').is_none() {
                self.after('}')?;
                break;
            }
        }
        Some(Value::Object(fields))
    }

    fn array(&mut self, depth: usize) -> Option<Value> {
        self.after('[')?;
        let mut items = Vec::new();
        while self.after(']').is_none() {
            items.push(self.value(depth + 1)?);
            if self.after(',').is_none() {
                self.after(']')?;
                break;
            }
        }
        Some(Value::Array(items))
    }

    fn number(&mut self) -> Option<Value> {
        let is_part = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '-' | '+');
        let end = self.rest.find(|it| !is_part(it)).unwrap_or(self.rest.len());
        let (number, rest) = self.rest.split_at(end);
        self.rest = rest;
        serde_json::from_str::<Number>(number).ok().map(Value::Number)
    }

    /// Reads a string. A template with a value in it is no literal.
    fn string(&mut self, quote: char) -> Option<String> {
        let mut letters = self.rest.strip_prefix(quote)?.chars();
        let mut text = String::new();
        loop {
            match letters.next()? {
                it if it == quote => break,
                '\\' => text.extend(escaped(&mut letters)?),
                '$' if quote == '`' && letters.as_str().starts_with('{') => return None,
                '\n' if quote != '`' => return None,
                it => text.push(it),
            }
        }
        self.rest = letters.as_str();
        Some(text)
    }
}

/// Reads the rest of an escape; `Some(None)` stands for no letter.
fn escaped(letters: &mut std::str::Chars<'_>) -> Option<Option<char>> {
    let coded = |digits: &str| u32::from_str_radix(digits, 16).ok();
    let code = match letters.next()? {
        '\n' => return Some(None),
        'n' => return Some(Some('\n')),
        't' => return Some(Some('\t')),
        'r' => return Some(Some('\r')),
        'b' => return Some(Some('\u{8}')),
        'f' => return Some(Some('\u{c}')),
        'v' => return Some(Some('\u{b}')),
        '0' => return Some(Some('\0')),
        'x' => coded(&take(letters, 2)?)?,
        'u' if letters.as_str().starts_with('{') => {
            letters.next();
            let digits: String = letters.by_ref().take_while(|it| *it != '}').collect();
            coded(&digits)?
        }
        'u' => {
            let first = coded(&take(letters, 4)?)?;
            match first {
                // The first half of a letter that has two.
                0xd800..=0xdbff => {
                    let second = take(letters, 2).filter(|it| it == "\\u").and_then(|_| take(letters, 4));
                    let second = second.and_then(|it| coded(&it))?.checked_sub(0xdc00)?;
                    0x10000 + ((first - 0xd800) << 10) + second
                }
                _ => first,
            }
        }
        other => return Some(Some(other)),
    };
    char::from_u32(code).map(Some)
}

fn take(letters: &mut std::str::Chars<'_>, count: usize) -> Option<String> {
    let taken: String = letters.by_ref().take(count).collect();
    (taken.chars().count() == count).then_some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn calls_with_literals_are_read() {
        for (script, expected) in [
            (
                r#"const r = await tools.exec_command({cmd:"ls -l","workdir":"/p",n:10});text(r);"#,
                json!([["exec_command", {"cmd": "ls -l", "workdir": "/p", "n": 10}]]),
            ),
            (
                "await Promise.all([tools.a({x: 'it\\'s', y: [1, -2.5, true, null,],}), tools . b ( `two\\u0041\nlines` ) ])",
                json!([["a", {"x": "it's", "y": [1, -2.5, true, null]}], ["b", "twoA\nlines"]]),
            ),
            (
                "tools.a(/* now */ {// the command\n cmd: \"rm my_tools tools\"})",
                json!([["a", {"cmd": "rm my_tools tools"}]]),
            ),
            ("tools.a({cmd: '\\ud83d\\ude00\\x41\\u{42}\\\nC'})", json!([["a", {"cmd": "😀ABC"}]])),
            ("text('hello'); mytools.run(x); toolset(y)", json!([])),
        ] {
            assert_eq!(json!(calls(script)), expected, "{script}");
        }
    }

    #[test]
    fn a_script_with_anything_else_is_not_read() {
        for script in [
            "tools.exec_command({cmd: line})",
            "tools.exec_command({cmd: 'a' + b})",
            "tools.exec_command({cmd: `ls ${dir}`})",
            "tools.exec_command(options)",
            "const {exec_command} = tools; exec_command({cmd: 'ls'})",
            "tools['exec_command']({cmd: 'ls'})",
            "tools.exec_command({cmd: 'ls'",
            "tools.exec_command({cmd: 'ls",
            "tools.exec_command({...options, cmd: 'ls'})",
            "tools.exec_command({cmd: '\\ud83d'})",
            "tools",
        ] {
            assert_eq!(calls(script), None, "{script}");
        }
        let deep = format!("tools.a({}", "[".repeat(100_000));
        assert_eq!(calls(&deep), None);
    }
}
