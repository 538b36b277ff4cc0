//! Shell lines with the effect of a call of a tool that is not a shell, such as one of an MCP server.
//!
//! Nobody knows such tools by name. Their inputs say what they do: a line, the words of a command, code in a language, a
//! patch, or paths in a tool whose name says that it reads, removes or moves files. So one reader of lines judges them
//! all.

use crate::wrappers::quoted;

/// The fields that hold a line, or the words of one, in lower case and without `_` and `-`.
const LINES: [&str; 7] = ["command", "commands", "cmd", "script", "shellcommand", "commandline", "keys"];

/// The fields that hold code.
const CODE: [&str; 4] = ["code", "sourcecode", "snippet", "cell"];

/// Words in the name of a tool that reads, removes or moves the files whose paths it is given.
const READS: &str = "read get cat show view open load download fetch head tail";
const REMOVES: &str = "delete remove rm rmdir unlink trash erase purge";
const MOVES: &str = "move rename mv";

/// Words of names whose tools take whole directories.
const TREES: &str = "directory directories dir dirs folder folders tree recursive recursively all";

/// Words of names whose tools change files, and show nothing.
const CHANGES: &str = "write create edit append update save put set list search find stat info";

/// Words that name a language.
const LANGUAGES: [(&str, &str); 4] = [
    ("javascript js node nodejs typescript ts deno bun", "node -e"),
    ("bash sh shell zsh terminal", "bash -c"),
    ("ruby rb", "ruby -e"),
    ("perl", "perl -e"),
];

/// Fields with the working directory of a tool, in lower case and without `_` and `-`.
pub const DIRECTORIES: [&str; 11] = [
    "cwd",
    "workdir",
    "workingdir",
    "workingdirectory",
    "currentdirectory",
    "directory",
    "dir",
    "dirpath",
    "basedir",
    "basepath",
    "repopath",
];

/// The longest path on any system, in bytes.
const MAX_PATH: usize = 4096;

/// Returns the words of a tool's name in lower case, such as `move` and `file`, without the name of its server.
pub fn name_words(name: &str) -> Vec<String> {
    let tool = name.rsplit("__").next().unwrap_or(name);
    let (mut words, mut before) = (vec![String::new()], 'A');
    for letter in tool.chars() {
        let begins = letter.is_ascii_uppercase() && !before.is_ascii_uppercase();
        if begins || !letter.is_ascii_alphanumeric() {
            words.push(String::new());
        }
        before = letter;
        if let Some(word) = words.last_mut().filter(|_| letter.is_ascii_alphanumeric()) {
            word.push(letter.to_ascii_lowercase());
        }
    }
    words
}

/// Returns lines with the effect of a call. `texts` are the texts of its input, each with the plain name of its field.
pub fn lines_of_call(name: &str, texts: &[(String, String)]) -> Vec<String> {
    let words = name_words(name);
    let is_one = |list: &str| words.iter().any(|word| list.split_ascii_whitespace().any(|it| it == word));
    let mut lines: Vec<String> = LINES.iter().filter_map(|field| line(field, texts)).collect();
    for (_, text) in texts.iter().filter(|(field, _)| CODE.contains(&field.as_str())) {
        let named = texts.iter().find(|(field, _)| matches!(field.as_str(), "language" | "lang" | "kernel"));
        let is_named = |list: &str| {
            let language = named.map(|it| it.1.to_ascii_lowercase());
            is_one(list) || language.is_some_and(|it| list.split_ascii_whitespace().any(|name| name == it))
        };
        let program = LANGUAGES.iter().find(|it| is_named(it.0)).map_or("python3 -c", |it| it.1);
        lines.push(format!("{program} {}", quoted(text)));
    }
    for (_, text) in texts.iter().filter(|(_, text)| text.contains("*** Begin Patch")) {
        lines.push(format!("apply_patch {}", quoted(text)));
    }
    let paths: Vec<String> = texts.iter().filter_map(|(field, text)| path(field, text)).map(quoted).collect();
    if is_one(REMOVES) {
        // A tool for files takes no directory with all that is in it.
        let program = if is_one("file files") && !is_one(TREES) { "rm" } else { "rm -rf" };
        lines.extend(paths.iter().map(|it| format!("{program} {it}")));
    } else if is_one(MOVES) && paths.len() > 1 {
        lines.push(format!("mv {}", paths.join(" ")));
    } else if is_one(READS) && !is_one(CHANGES) {
        lines.extend(paths.iter().map(|it| format!("cat {it}")));
    }
    lines
}

/// Returns the line in a field: its text, or its texts as words.
fn line(field: &str, texts: &[(String, String)]) -> Option<String> {
    let mut words = texts.iter().filter(|it| it.0 == field).map(|it| it.1.as_str());
    let first = words.next()?;
    let rest: Vec<String> = words.map(quoted).collect();
    if rest.is_empty() {
        return Some(first.to_owned());
    }
    // A list of words, or of lines.
    let is_lines = first.contains(char::is_whitespace);
    let first = if is_lines { first.to_owned() } else { quoted(first) };
    Some(if is_lines {
        texts.iter().filter(|it| it.0 == field).map(|it| format!("eval {}\n", quoted(&it.1))).collect()
    } else {
        format!("{first} {}", rest.join(" "))
    })
}

/// Returns the text of a field if it is a path: absolute, in a home directory, or in a field that says so.
fn path<'t>(field: &str, text: &'t str) -> Option<&'t str> {
    let path = text.strip_prefix("file://").unwrap_or(text);
    let is_named = ["path", "file", "directory", "dir", "folder", "source", "destination", "uri"]
        .iter()
        .any(|it| field.trim_end_matches('s').ends_with(it));
    let is_path = path.starts_with('/') && !path.starts_with("//")
        || path.starts_with("~/")
        || path.starts_with("./")
        || path.starts_with("../")
        || is_named && !path.contains("://");
    (is_path && path.len() <= MAX_PATH && !path.is_empty() && !path.contains('\n')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_lines_with_its_effect() {
        for (name, texts, want) in [
            ("mcp__x__run", &[("command", "ls -l")][..], &["ls -l"][..]),
            ("mcp__x__run", &[("cmd", "rm"), ("cmd", "-rf"), ("cmd", "a b")], &["rm -rf 'a b'"]),
            ("mcp__x__run", &[("commands", "ls a"), ("commands", "rm b")], &["eval 'ls a'\neval 'rm b'\n"]),
            ("mcp__ide__executeCode", &[("code", "f('x')")], &["python3 -c 'f('\\''x'\\'')'"]),
            ("mcp__x__eval_js", &[("code", "f()")], &["node -e 'f()'"]),
            ("mcp__x__run", &[("code", "ls"), ("language", "bash")], &["bash -c ls", "ls"][..1]),
            ("mcp__fs__delete_directory", &[("path", "/srv/x")], &["rm -rf /srv/x"]),
            ("mcp__fs__deleteFile", &[("name", "x")], &[]),
            ("mcp__fs__deleteFile", &[("path", "/x")], &["rm /x"]),
            ("mcp__fs__delete_files_and_folders", &[("paths", "/x")], &["rm -rf /x"]),
            ("mcp__fs__remove", &[("path", "/x")], &["rm -rf /x"]),
            ("mcp__fs__move_file", &[("source", "/a"), ("destination", "/b")], &["mv /a /b"]),
            ("mcp__fs__read_multiple_files", &[("paths", "~/.ssh/id_rsa")], &["cat '~/.ssh/id_rsa'"]),
            ("mcp__fetch__fetch", &[("url", "file:///etc/shadow")], &["cat /etc/shadow"]),
            ("mcp__fetch__fetch", &[("url", "https://example.org/a")], &[]),
            ("mcp__fs__write_file", &[("path", "/a"), ("content", "x")], &[]),
            ("mcp__fs__read_and_write", &[("path", "/a")], &[]),
            ("mcp__x__patch", &[("patch", "*** Begin Patch")], &["apply_patch '*** Begin Patch'"]),
            ("TodoWrite", &[("content", "delete /srv/x")], &[]),
        ] {
            let texts: Vec<(String, String)> =
                texts.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
            assert_eq!(lines_of_call(name, &texts), want, "{name} {texts:?}");
        }
    }
}
