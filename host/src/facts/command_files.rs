//! The shell lines in skills and command files. An agent runs them by itself when the file is used, and in most agents no
//! hook sees them then. So they are judged at the call that writes the file, and at the call that uses it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hookbox_calls::{command_of, plain};
use serde_json::Value;

use crate::event::{EventData, FileUse, ToolCall, ToolKind};
use hookbox_system::files::{EntryKind, FileAccess};

/// The longest skill or command file that is read, in bytes: more than the context window of any model.
const MAX_FILE: u64 = 16 << 20;

/// The files and directories that are looked at in one place.
const MAX_LOOKED_AT: usize = 4096;

/// The tools that use a skill or a command by its name, as [`plain`] writes them, and the event of it.
const USES: [&str; 3] = ["skill", "slashcommand", "activateskill"];
const EXPANSION: &str = "user_prompt_expansion";

/// A directory of an agent's skills or command files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandFiles {
    /// The directory, as the end of a path, such as `.agent/commands`.
    pub directory: &'static str,
    /// True for `!{LINE}` in TOML and Markdown, or for `` !`LINE` `` and blocks that begin with three backquotes
    /// and `!` in Markdown if it is false.
    pub has_braces: bool,
}

impl CommandFiles {
    /// Returns true if the agent reads lines in a file at this path.
    fn has(&self, path: &str) -> bool {
        let is_read = path.ends_with(".md") || self.has_braces && path.ends_with(".toml");
        is_read
            && path.match_indices(self.directory).any(|(at, found)| {
                let is_whole = |before: &str| before.is_empty() || before.ends_with('/');
                let after = path.get(at + found.len()..);
                path.get(..at).is_some_and(is_whole) && after.is_some_and(|it| it.starts_with('/'))
            })
    }

    /// Returns the files below a directory of the user or of a project that have lines, in order; of a very large tree not
    /// all.
    pub fn with_lines(&self, root: &Path) -> Vec<PathBuf> {
        let (mut found, mut waiting) = (Vec::new(), vec![root.join(self.directory)]);
        let mut left = MAX_LOOKED_AT;
        while let Some(directory) = waiting.pop() {
            for (name, _) in
                FileAccess::Anywhere.names(&directory).map(|it| it.0).unwrap_or_default().iter().zip(0..left)
            {
                left -= 1;
                let path = directory.join(name);
                match FileAccess::Anywhere.entry_kind(&path) {
                    Ok(EntryKind::Directory) if !FileAccess::Anywhere.is_symlink(&path) => waiting.push(path),
                    Ok(EntryKind::File { .. })
                        if self.has(&path.to_string_lossy()) && !self.lines_of(&path).is_empty() =>
                    {
                        found.push(path);
                    }
                    _ => {}
                }
            }
        }
        found.sort();
        found
    }

    /// Returns the lines of a file, if it can be read.
    fn lines_of(&self, path: &Path) -> Vec<String> {
        let bytes = FileAccess::Anywhere.read(path, MAX_FILE).unwrap_or_default();
        self.lines(&String::from_utf8_lossy(&bytes)).into_iter().map(str::to_owned).collect()
    }

    /// Returns the lines in a text of such a file.
    fn lines<'t>(&self, text: &'t str) -> Vec<&'t str> {
        if self.has_braces { braced(text) } else { quoted(text) }
    }
}

/// Returns the lines that a call writes to such files, or that the files have which it uses, as one line of a shell. `None`
/// if there are none.
pub(crate) fn shell_line(
    event: &EventData,
    cwd: &Path,
    home: Option<&Path>,
    places: &[CommandFiles],
) -> Option<String> {
    if places.is_empty() {
        return None;
    }
    let used = used(event);
    if used.is_empty() {
        return match event {
            EventData::BeforeToolCall(call) => written_line(call, cwd, home, places),
            _ => None,
        };
    }
    let mut lines = Vec::new();
    for directory in cwd.ancestors().chain(home) {
        for (place, name) in places.iter().flat_map(|place| used.iter().map(move |name| (place, name))) {
            let file = directory.join(place.directory).join(name);
            for path in
                [file.join("SKILL.md"), file.with_added_extension("md"), file.with_added_extension("toml")]
            {
                lines.extend(place.lines_of(&path));
            }
        }
    }
    as_one(&lines)
}

/// Returns the files of the skill or the command that an event uses, below the directory of all of them and without an
/// ending.
fn used(event: &EventData) -> Vec<String> {
    let (value, keys) = match event {
        EventData::BeforeToolCall(call) if USES.contains(&&*plain(&call.name)) => {
            (call.input.value().as_object(), &["skill", "command", "name"][..])
        }
        EventData::Other { name, data } if name == EXPANSION => (Some(data), &["command_name"][..]),
        _ => return Vec::new(),
    };
    let names = keys.iter().filter_map(|key| value?.get(*key)?.as_str()?.split_whitespace().next());
    // A colon is between a command's directory and its name.
    let paths = names.map(|name| name.trim_start_matches('/').replace(':', "/"));
    paths.filter(|path| path.split('/').all(|part| !["", ".", ".."].contains(&part))).collect()
}

/// Returns lines as one. Each is one of its own, whatever is open at its end.
fn as_one(lines: &[impl AsRef<str>]) -> Option<String> {
    let lines: Vec<&str> = lines.iter().map(AsRef::as_ref).collect();
    command_of("run_commands", &serde_json::json!({ "commands": lines })).filter(|_| !lines.is_empty())
}

fn written_line(call: &ToolCall, cwd: &Path, home: Option<&Path>, places: &[CommandFiles]) -> Option<String> {
    let mut texts = Vec::new();
    collect(call.input.value(), &mut texts);
    if !texts.iter().any(|text| ["!`", "!{", "```!"].iter().any(|mark| text.contains(mark))) {
        return None;
    }
    let facts = Arc::new(super::of(&call.name, &call.input, cwd, home));
    let call = ToolCall { facts, ..call.clone() };
    let files = call.facts_in(&cwd.to_string_lossy()).files.into_iter();
    let mut paths: Vec<String> = files.filter(|it| it.usage == FileUse::Writes).map(|it| it.path).collect();
    // A tool of an MCP server has its own names for a path, and for what it does.
    if matches!(call.facts.kind, ToolKind::Mcp | ToolKind::Other) {
        paths.extend(texts.iter().filter(|text| !text.contains('\n')).map(|text| (*text).to_owned()));
    }
    let place = places.iter().find(|place| paths.iter().any(|path| place.has(path)))?;
    as_one(&texts.into_iter().flat_map(|text| place.lines(text)).collect::<Vec<_>>())
}

/// Adds all texts in a value, but for those that an edit replaces.
fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(list) => list.iter().for_each(|it| collect(it, texts)),
        Value::Object(object) => {
            let new = object.iter().filter(|(name, _)| !plain(name).starts_with("old"));
            new.for_each(|(_, it)| collect(it, texts));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the lines in backquotes behind `!`, and those of blocks.
fn quoted(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    for (mark, end) in [("!`", "`"), ("```!", "```")] {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(mark) {
            let (line, after) = after.split_once(end).unwrap_or((after, ""));
            lines.push(line.trim());
            rest = after;
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Returns the lines in braces behind `!`, which may have braces themselves.
fn braced(text: &str) -> Vec<&str> {
    let (mut lines, mut rest) = (Vec::new(), text);
    while let Some((_, after)) = rest.split_once("!{") {
        let mut depth = 1_usize;
        let end = after.find(|c| {
            depth = match c {
                '{' => depth + 1,
                '}' => depth - 1,
                _ => depth,
            };
            depth == 0
        });
        let (line, after) = end.and_then(|end| after.split_at_checked(end)).unwrap_or((after, ""));
        lines.push(line.trim());
        rest = after;
    }
    lines.retain(|line| !line.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_marked_lines_of_a_text_are_found() {
        for (text, want) in [
            ("Look: !`git status` and !`git push -f`.", &["git status", "git push -f"][..]),
            ("# Do\n```!\ngit status\nrm -rf x\n```\n", &["git status\nrm -rf x"]),
            ("!`never ends", &["never ends"]),
            ("Hello! `ls` {x} ``` !`` !{ls}", &[]),
        ] {
            assert_eq!(quoted(text), want, "{text}");
        }
        for (text, want) in [
            ("prompt = \"!{cat {{args}} | sh}\" !{ls}", &["cat {{args}} | sh", "ls"][..]),
            ("!{never {ends}", &["never {ends}"]),
            ("!`ls` vec! {x}", &[]),
        ] {
            assert_eq!(braced(text), want, "{text}");
        }
    }

    #[test]
    fn a_call_writes_lines_to_a_file_of_commands_and_to_no_other() {
        let text = "Go on: !`git push --force`";
        let places = [(".claude/skills", false), (".gemini/commands", true)];
        let places = places.map(|(directory, has_braces)| CommandFiles { directory, has_braces });
        for (name, input, is_found) in [
            ("Write", json!({"file_path": "/work/.claude/skills/a/SKILL.md", "content": text}), true),
            ("Write", json!({"file_path": ".claude/skills/a/SKILL.md", "content": text}), true),
            ("Write", json!({"file_path": "/work/.claude/skills/a/lib.rs", "content": text}), false),
            (
                "Write",
                json!({"file_path": "/work/.claude/skills/a.md", "content": "!{git push --force}"}),
                false,
            ),
            ("Write", json!({"file_path": "/work/docs/a.md", "content": text}), false),
            ("Write", json!({"file_path": "/work/my.claude/skills/a.md", "content": text}), false),
            (
                "Edit",
                json!({"file_path": "/a/.claude/skills/a.md", "old_string": "x", "new_string": text}),
                true,
            ),
            (
                "Edit",
                json!({"file_path": "/a/.claude/skills/a.md", "old_string": text, "new_string": "x"}),
                false,
            ),
            (
                "write_file",
                json!({"file_path": ".gemini/commands/a.toml", "content": "!{git push --force}"}),
                true,
            ),
            ("mcp__fs__save", json!({"to": "/work/.claude/skills/a.md", "data": {"text": text}}), true),
            ("Bash", json!({"command": "cat > .claude/skills/a.md <<'E'\n!`git push --force`\nE"}), true),
            ("Bash", json!({"command": "cd .claude/skills && tee a.md <<'E'\n!`git push --force`\nE"}), true),
            ("Bash", json!({"command": "cat .claude/skills/a.md; echo '!`git push --force`'"}), false),
            ("Read", json!({"file_path": "/work/.claude/skills/a.md", "note": text}), false),
        ] {
            let call = ToolCall::new(name, input.clone());
            let found = written_line(&call, Path::new("/work"), None, &places);
            assert_eq!(found.is_some_and(|it| it.contains("git push --force")), is_found, "{name} {input}");
        }
        // No line takes a part of the next one.
        let call = json!({"file_path": ".claude/skills/a.md", "content": "!`cat <<X` !`git push`"});
        let line = written_line(&ToolCall::new("Write", call), Path::new("/work"), None, &places).unwrap();
        let reading = hookbox_shell::runs(&line, &hookbox_shell::Known::default());
        assert!(reading.runs.iter().any(|run| run.program() == Some("git")), "{line}");
    }

    #[test]
    fn the_lines_of_a_skill_or_command_are_those_of_what_uses_it() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("repo/.claude/skills/deploy/SKILL.md", "!`git push --force`");
        write("repo/.claude/commands/web/deploy.md", "!`git push --force`");
        write("home/.gemini/commands/deploy.toml", "prompt = '!{git push --force}'");
        write("repo/.claude/skills/harmless/SKILL.md", "No line: `ls`");
        let quoted = |directory| CommandFiles { directory, has_braces: false };
        let places = [
            quoted(".claude/skills"),
            quoted(".claude/commands"),
            CommandFiles { directory: ".gemini/commands", has_braces: true },
        ];
        let (cwd, home) = (dir.path().join("repo/src/deep"), dir.path().join("home"));
        let tool = |name: &str, input| EventData::BeforeToolCall(ToolCall::new(name, input));
        let typed = |name: &str| EventData::Other {
            name: "user_prompt_expansion".to_owned(),
            data: json!({"command_name": name}).as_object().unwrap().clone(),
        };
        for (event, is_found) in [
            (tool("Skill", json!({"skill": "deploy", "args": "now"})), true),
            (tool("SlashCommand", json!({"command": "/web:deploy now"})), true),
            (tool("activate_skill", json!({"name": "deploy"})), true),
            (typed("deploy"), true),
            (typed("web:deploy"), true),
            (typed("harmless"), false),
            (typed("../skills/deploy"), false),
            (typed("unheard"), false),
            (tool("Skill", json!({"skill": 5})), false),
            (tool("Other", json!({"skill": "deploy"})), false),
        ] {
            let line = shell_line(&event, &cwd, Some(&home), &places);
            assert_eq!(line.is_some_and(|it| it.contains("git push --force")), is_found, "{event:?}");
        }
        let with_lines = places.map(|place| place.with_lines(&dir.path().join("repo")));
        let file = |path: &str| vec![dir.path().join("repo/.claude").join(path)];
        assert_eq!(with_lines, [file("skills/deploy/SKILL.md"), file("commands/web/deploy.md"), Vec::new()]);
    }
}
