//! The files that a call uses.

use hookbox_shell::{FileUse, Known, Mode, Place, Run, UsedFile, is_in, join_path, runs};
use serde_json::{Value, json};

use crate::kinds::{ToolKind, shows};
use crate::lines::{MOVES, REMOVES, path};
use crate::texts::{directory, texts};
use crate::{Call, lines, name_words, named, patterns};

/// Words in the name of a tool that writes the file whose path it is given.
const WRITES: &str = "write create edit append update save replace insert patch put add";

/// The fields with the text that goes into a file, in their plain form.
pub(crate) const CONTENTS: &str = "content contents filetext text newstring newstr newsource newtext newcontent inserttext \
    filecontent filecontents replacement replacementcontent codecontent codeedit data code";

/// The most files of one call; further ones are left out.
const MAX_FILES: usize = 256;

/// A file that a call uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The path: absolute and without `..` if the directory of the call is known, else as it is written.
    pub path: String,
    /// The use.
    pub usage: FileUse,
    /// True if the path is a pattern for names of files.
    pub is_pattern: bool,
    /// The text that goes into the file, or a part of it, if the call has it.
    pub text: Option<String>,
}

/// The facts of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CallFacts {
    /// The [lines](lines()) that it may run.
    pub lines: Vec<String>,
    /// The files that it uses, each once for each use: at most 256. Those in code of other languages are not among them.
    pub files: Vec<File>,
}

impl CallFacts {
    /// Returns the facts as `hookbox run --report` prints them (`docs/src/json.md`).
    pub fn to_json(&self) -> Value {
        let file = |it: &File| json!({ "path": it.path, "use": it.usage.as_str(), "pattern": it.is_pattern, "text": it.text });
        json!({ "lines": self.lines, "files": self.files.iter().map(file).collect::<Vec<_>>() })
    }
}

/// Returns the facts of a call in a directory. `paths` are the paths of a file tool, if they are resolved.
pub fn facts(call: &Call<'_>, paths: &[&str], cwd: &str) -> CallFacts {
    let directory = directory(call).map_or_else(|| cwd.to_owned(), |it| join_path(cwd, it));
    let known = Known { cwd: Some(directory.as_str()).filter(|it| it.starts_with('/')), ..Known::default() };
    let lines = lines(call);
    let mut files: Vec<File> = match call.kind {
        ToolKind::Shell | ToolKind::Fetch | ToolKind::Agent => Vec::new(),
        ToolKind::Mcp | ToolKind::Other => of_words(call, &directory),
        _ => of_tool(call, paths, cwd),
    };
    for line in &lines {
        let reading = runs(line, &known);
        let here = reading.runs.iter().filter(|it| it.place == Place::Here);
        files.extend(here.flat_map(|run| of_run(run, &directory)).take(MAX_FILES));
    }
    let mut all: Vec<File> = Vec::new();
    for file in files {
        if all.len() < MAX_FILES && !all.iter().any(|it| it.path == file.path && it.usage == file.usage) {
            all.push(file);
        }
    }
    CallFacts { lines, files: all }
}

/// Returns the text that a call writes.
fn content(call: &Call<'_>) -> Option<String> {
    let texts = texts(call.input);
    let written: Vec<&str> =
        texts.iter().filter(|it| is_in(CONTENTS, &it.0)).map(|it| it.1.as_str()).collect();
    Some(written.join("\n")).filter(|_| !written.is_empty())
}

/// Returns the files of a file tool.
fn of_tool(call: &Call<'_>, paths: &[&str], cwd: &str) -> Vec<File> {
    let words = name_words(call.name);
    let is_one = |list: &str| words.iter().any(|word| is_in(list, word));
    let is_written = matches!(call.kind, ToolKind::Write | ToolKind::Edit);
    let usage = match is_written {
        true if is_one(REMOVES) => FileUse::Removes,
        true if is_one(MOVES) => FileUse::Moves,
        true => FileUse::Writes,
        false => FileUse::Reads,
    };
    let text = content(call).filter(|_| usage == FileUse::Writes);
    let named = named(call.name, call.input);
    let texts = texts(call.input);
    let patches = texts.iter().filter(|_| call.kind == ToolKind::Edit);
    let in_patch: Vec<UsedFile<'_>> =
        patches.flat_map(|(_, text)| hookbox_shell::used_in_patch(text)).collect();
    let files = named.iter().enumerate().map(|(at, name)| {
        let is_target = usage == FileUse::Moves && at > 0 && at + 1 == named.len();
        let by_patch = in_patch.iter().find(|it| it.path == *name).map(|it| it.usage);
        // A link that was followed is known by its target.
        let resolved = paths.get(at).filter(|_| paths.len() == named.len());
        File {
            path: resolved.map_or_else(|| join_path(cwd, name), |it| (*it).to_owned()),
            usage: by_patch.unwrap_or(if is_target { FileUse::Writes } else { usage }),
            is_pattern: false,
            text: text.clone(),
        }
    });
    let globs = patterns(call.input).filter(|_| call.kind == ToolKind::Search);
    // A pattern of one name fits in every directory.
    let anywhere = join_path(cwd, "**");
    let globs = globs.map(|it| File {
        path: join_path(if it.contains('/') { cwd } else { &anywhere }, it),
        usage: FileUse::Reads,
        is_pattern: true,
        text: None,
    });
    let mut files: Vec<File> = files.chain(globs).collect();
    if call.kind == ToolKind::Edit && shows(call.input).is_none() {
        let read: Vec<File> =
            files.iter().map(|it| File { usage: FileUse::Reads, text: None, ..it.clone() }).collect();
        files.extend(read);
    }
    files
}

/// Returns the files that a tool writes which is known by the words of its name. Those that it reads, removes or moves are
/// in its lines.
fn of_words(call: &Call<'_>, directory: &str) -> Vec<File> {
    let words = name_words(call.name);
    if !words.iter().any(|word| is_in(WRITES, word)) {
        return Vec::new();
    }
    let (texts, text) = (texts(call.input), content(call));
    let paths =
        texts.iter().filter(|it| !is_in(CONTENTS, &it.0)).filter_map(|(field, it)| path(field, it, false));
    let files = paths.map(|it| File {
        path: join_path(directory, it),
        usage: FileUse::Writes,
        is_pattern: false,
        text: text.clone(),
    });
    files.collect()
}

/// Returns the files of a command.
fn of_run(run: &Run, directory: &str) -> Vec<File> {
    let given = run.redirections.iter().find(|it| it.mode == Mode::Text).map(|it| it.target.text.clone());
    let printed = || {
        let words: Vec<&str> = run.args().iter().map(|it| it.text.as_str()).collect();
        Some(words.join(" ")).filter(|_| matches!(run.program(), Some("echo" | "printf")))
    };
    let text = given.or_else(printed);
    let files = run.files().into_iter().map(|it| File {
        path: match run.directory.as_deref() {
            Some(it_runs_in) => join_path(&join_path(directory, it_runs_in), it.path),
            None => it.path.to_owned(),
        },
        usage: it.usage,
        is_pattern: it.is_pattern,
        text: text.clone().filter(|_| it.usage == FileUse::Writes),
    });
    files.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{command_of, kind_of_call};

    #[test]
    fn a_call_uses_the_files_of_its_tool_and_its_lines() {
        let patch = "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** End Patch";
        for (name, input, want) in [
            ("Read", json!({"file_path": "a"}), &["reads /w/a"][..]),
            ("Write", json!({"file_path": "/a", "content": "x y"}), &["writes /a: x y"]),
            ("Edit", json!({"file_path": "a", "old_string": "o", "new_string": "n"}), &["writes /w/a: n"]),
            ("delete_file", json!({"path": "a"}), &["removes /w/a"]),
            ("text_editor", json!({"command": "view", "path": "a"}), &["reads /w/a"]),
            (
                "text_editor",
                json!({"command": "view", "op": "x", "path": "a"}),
                &["writes /w/a", "reads /w/a"],
            ),
            ("move_file", json!({"path": "a", "destination": "b"}), &["moves /w/a", "writes /w/b"]),
            ("move_file", json!({"destination": "b", "source": "a"}), &["moves /w/a", "writes /w/b"]),
            ("rename_file", json!({"from": "a", "to": "d/b"}), &["moves /w/a", "writes /w/d/b"]),
            ("move_file", json!({"file_path": "/z", "target": "~/b"}), &["moves /z", "writes ~/b"]),
            (
                "move_file",
                json!({"options": {"src": ["a", "b"], "dest": "c"}}),
                &["moves /w/a", "moves /w/b", "writes /w/c"],
            ),
            (
                "Edit",
                json!({"path": "a", "edits": [{"uri": "/b", "old": "/c", "new": "/d"}]}),
                &["writes /w/a", "writes /b"],
            ),
            (
                "Edit",
                json!({"path": "a", "old_string": "/c", "new_string": "/d", "x": 5}),
                &["writes /w/a: /d"],
            ),
            (
                "delete_file",
                json!({"path": "a", "items": [{"what": "~/b"}]}),
                &["removes /w/a", "removes ~/b"],
            ),
            (
                "delete_file",
                json!({"path": "a", "what": ".b/c", "n": ".d"}),
                &["removes /w/a", "removes /w/.b/c"],
            ),
            ("Write", json!({"uri": "file:///a/b", "content": "./c"}), &["writes /a/b: ./c"]),
            ("Read", json!({"path": "a", "why": "/b"}), &["reads /w/a"]),
            (
                "apply_patch",
                json!("*** Begin Patch\n*** Update File: c\n+x\n*** Update File: a\n*** Move to: d/a\n+x"),
                &["writes /w/c", "moves /w/a", "writes /w/d/a"],
            ),
            ("mcp__fs__rename", json!({"to": "d/a", "from": "a"}), &["moves /w/a", "writes /w/d/a"]),
            ("Grep", json!({"path": "a", "glob": "*.env"}), &["reads /w/a", "reads* /w/**/*.env"]),
            ("apply_patch", json!(patch), &["writes /w/a", "removes /w/b"]),
            ("apply_patch", json!({"input": patch}), &["writes /w/a", "removes /w/b"]),
            (
                "Bash",
                json!({"command": "cd s && echo x y > a; rm *.c"}),
                &["writes /w/s/a: x y", "removes* /w/s/*.c"],
            ),
            ("Bash", json!({"command": "cat <<E >> /a\nt\nE", "cwd": "s"}), &["writes /a: t\n"]),
            ("Bash", json!({"command": "cat b", "workdir": "s"}), &["reads /w/s/b"]),
            ("Bash", json!({"command": "ssh h cat b"}), &[]),
            ("mcp__fs__write_file", json!({"path": "a", "content": "/x"}), &["writes /w/a: /x"]),
            ("mcp__fs__read_file", json!({"path": "/a"}), &["reads /a"]),
            ("mcp__fs__move_file", json!({"source": "/a", "destination": "/b"}), &["moves /a", "writes /b"]),
            ("mcp__x__run", json!({"cmd": ["rm", "-rf", "src"]}), &["removes /w/src"]),
            (
                "mcp__fs__delete_file",
                json!({"directory": "src", "path": "a"}),
                &["removes /w/src", "removes /w/a"],
            ),
            ("mcp__x__run", json!({"cwd": "s", "command": "rm a"}), &["removes /w/s/a"]),
            ("WebFetch", json!({"url": "https://example.com/a"}), &[]),
        ] {
            let (kind, command) = (kind_of_call(name, &input), command_of(name, &input));
            let command = command.as_deref().filter(|_| kind == ToolKind::Shell);
            let call = Call { name, kind, command, input: &input };
            let shown = |file: File| {
                let usage = file.usage.as_str();
                let (mark, text) = (if file.is_pattern { "*" } else { "" }, file.text);
                format!("{usage}{mark} {}{}", file.path, text.map(|it| format!(": {it}")).unwrap_or_default())
            };
            let found: Vec<String> = facts(&call, &[], "/w").files.into_iter().map(shown).collect();
            assert_eq!(found, want, "{name} {input}");
        }
    }
}
