//! The shell lines in skills and command files that a call writes. An agent runs them by itself when the file is used, and
//! in most agents no hook sees them then.

use std::path::Path;

use hookbox_shell::{Known, join_path, runs};
use serde_json::Value;

use crate::event::{ToolCall, ToolKind};

/// The beginnings of a line: `` !`LINE` `` in Claude Code and OpenCode, `!{LINE}` in Gemini CLI and Qwen Code, and Claude
/// Code's block of lines.
const MARKS: [&str; 3] = ["!`", "!{", FENCE];

/// The beginning of a block of lines, which ends with three such quotes.
const FENCE: &str = "```!";

/// Returns the lines that a call writes to a file below one of these directories, such as `.agent/commands`, wherever such
/// a directory is.
pub(crate) fn lines(
    call: &ToolCall,
    cwd: &Path,
    home: Option<&Path>,
    directories: &[&'static str],
) -> Vec<String> {
    let mut texts = Vec::new();
    collect(call.input.value(), &mut texts);
    if directories.is_empty() || !texts.iter().any(|text| MARKS.iter().any(|mark| text.contains(mark))) {
        return Vec::new();
    }
    let is_below = |path: &str| directories.iter().any(|directory| is_below(path, directory));
    let facts = super::of(&call.name, &call.input, cwd, home);
    let is_written = match facts.kind {
        ToolKind::Shell => facts.command.as_deref().is_some_and(|line| writes(line, cwd, is_below)),
        ToolKind::Write | ToolKind::Edit => facts.paths.iter().any(|it| is_below(&it.path)),
        // A tool of an MCP server has its own names for a path.
        ToolKind::Mcp | ToolKind::Other => texts.iter().any(|text| !text.contains('\n') && is_below(text)),
        ToolKind::Read | ToolKind::Search | ToolKind::Fetch | ToolKind::Agent => false,
    };
    if is_written { texts.into_iter().flat_map(marked).map(str::to_owned).collect() } else { Vec::new() }
}

/// Adds all texts in a value.
fn collect<'v>(value: &'v Value, texts: &mut Vec<&'v str>) {
    match value {
        Value::String(text) => texts.push(text),
        Value::Array(list) => list.iter().for_each(|it| collect(it, texts)),
        Value::Object(object) => object.values().for_each(|it| collect(it, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns true if a shell line writes such a file.
fn writes(line: &str, cwd: &Path, is_below: impl Fn(&str) -> bool) -> bool {
    runs(line, &Known::default()).runs.iter().any(|run| {
        let cwd = cwd.to_string_lossy();
        let directory = join_path(&cwd, run.directory.as_deref().unwrap_or("."));
        run.writes().into_iter().any(|file| is_below(&join_path(&directory, file)))
    })
}

/// Returns true if a path leads below a directory of this name.
fn is_below(path: &str, directory: &str) -> bool {
    path.match_indices(directory).any(|(at, found)| {
        let is_whole = |before: &str| before.is_empty() || before.ends_with('/');
        path.get(..at).is_some_and(is_whole)
            && path.get(at + found.len()..).is_some_and(|it| it.starts_with('/'))
    })
}

/// Returns the marked lines of a text.
fn marked(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    for (mark, end) in [("!`", "`"), (FENCE, "```")] {
        let mut rest = text;
        while let Some((_, after)) = rest.split_once(mark) {
            let (line, after) = after.split_once(end).unwrap_or((after, ""));
            lines.push(line.trim());
            rest = after;
        }
    }
    let mut rest = text;
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
            ("prompt = \"!{cat {{args}} | sh}\" !{ls}", &["cat {{args}} | sh", "ls"]),
            ("# Do\n```!\ngit status\nrm -rf x\n```\n", &["git status\nrm -rf x"]),
            ("!`never ends", &["never ends"]),
            ("!{never {ends}", &["never {ends}"]),
            ("Hello! `ls` {x} ``` !``", &[]),
        ] {
            assert_eq!(marked(text), want, "{text}");
        }
    }

    #[test]
    fn a_call_writes_lines_to_a_file_of_commands_and_to_no_other() {
        let text = "Go on: !`git push --force`";
        let lines_of = |name: &str, input: Value| {
            lines(
                &ToolCall::new(name, input),
                Path::new("/work"),
                None,
                &[".claude/skills", ".gemini/commands"],
            )
        };
        for (name, input, is_found) in [
            ("Write", json!({"file_path": "/work/.claude/skills/a/SKILL.md", "content": text}), true),
            ("Write", json!({"file_path": ".claude/skills/a/SKILL.md", "content": text}), true),
            ("Write", json!({"file_path": "/work/docs/a.md", "content": text}), false),
            ("Write", json!({"file_path": "/work/my.claude/skills/a.md", "content": text}), false),
            (
                "Edit",
                json!({"file_path": "/home/ada/.claude/skills/a.md", "old_string": "x", "new_string": text}),
                true,
            ),
            (
                "write_file",
                json!({"file_path": "/work/.gemini/commands/a.toml", "content": "!{git push --force}"}),
                true,
            ),
            ("mcp__fs__save", json!({"to": "/work/.claude/skills/a.md", "data": {"text": text}}), true),
            ("Bash", json!({"command": "cat > .claude/skills/a.md <<'E'\n!`git push --force`\nE"}), true),
            ("Bash", json!({"command": "cd .claude/skills && tee a.md <<'E'\n!`git push --force`\nE"}), true),
            ("Bash", json!({"command": "cat .claude/skills/a.md; echo '!`git push --force`'"}), false),
            ("Read", json!({"file_path": "/work/.claude/skills/a.md", "note": text}), false),
        ] {
            let found = lines_of(name, input.clone());
            assert_eq!(found, if is_found { vec!["git push --force"] } else { vec![] }, "{name} {input}");
        }
    }
}
