//! Shell lines with the effect of a call of a tool that is not a shell, such as one of an MCP server.
//!
//! Nobody knows such tools by name. Their inputs say what they do: a line, the words of a command, code in a language, a
//! patch, or paths in a tool whose name says that it reads, removes or moves files. So one reader of lines judges them
//! all.

use hookbox_shell::{is_in, quoted};

use crate::Call;
use crate::kinds::ToolKind;
use crate::line::{as_shell, command_of};
use crate::texts::{is_unreadable, texts};

/// The levels of the line for input that cannot be read: no reader of lines follows as many.
const UNREADABLE: usize = 64;

/// The fields that hold a line, or the words of one, in lower case and without `_` and `-`.
const LINES: &str =
    "command commands cmd script shellcommand commandline clicommand keys program executable binary bin exe";

/// Fields with the words behind those of a line.
const ARGUMENTS: &str = "args arguments parameters params argv";

/// Words in the name of a tool that runs what it is given: every text of its input may be a line, or a word of one.
pub const RUNS: &str = "run exec execute shell command commands terminal bash sh zsh cmd powershell pwsh eval evaluate spawn \
    process script repl console tty pty stdin";

/// Words of a tool that types, if the name of its server says that it is a terminal.
const TYPES: &str = "send type write keys input paste";
const SHELLS: &str = "shell bash sh zsh terminal term tty pty console tmux screen process repl";

/// Fields with words for people, and those that say how something runs.
const OTHER: &str = "language lang kernel cwd workdir workingdirectory timeout";
const PROSE: &str = "description explanation reason title summary comment note message prompt goal";

/// The fields that hold code, and those of a tool that runs it.
const CODE: &str = "code sourcecode snippet cell cellsource cellcontent";
const RUN_CODE: &str = "source pythoncode javascript expression";

/// Fields whose words are as those of the tool's name: `action: "delete"`.
const ACTIONS: &str = "action op operation type";

/// Fields with a statement for a database, in a tool or server whose name says so.
const STATEMENTS: &str = "sql query statement";
const DATABASES: [&str; 8] =
    ["sql", "postgres", "supabase", "database", "mariadb", "duckdb", "bigquery", "snowflake"];

/// Programs that a tool is named by: `git_reset`, `kubectl`, `call_aws`.
const NAMED: &str = "git kubectl docker aws gcloud terraform helm gh npm";

/// Words in the name of a tool that reads, removes, moves, copies or sends the files whose paths it is given.
const READS: &str = "read get cat show view open load download fetch head tail grep navigate goto visit";
pub(crate) const REMOVES: &str = "delete remove rm rmdir unlink trash erase purge wipe empty destroy";
pub(crate) const MOVES: &str = "move rename mv";
const COPIES: &str = "copy cp duplicate";

/// Fields of a tool that moves or copies files, with what it moves and where to.
const ENDS: &str = "from to src dst dest target old new oldname newname";

const SENDS: &str = "upload send attach share publish post";

/// Words of names whose tools take whole directories.
const TREES: &str = "directory directories dir dirs folder folders tree recursive recursively all";

/// Words of names whose tools change files, and show nothing.
const CHANGES: &str = "write create edit append update save put set list search find stat info";

/// Words that name a language.
const LANGUAGES: [(&str, &str); 5] = [
    ("javascript js node nodejs typescript ts deno bun", "node -e"),
    ("bash sh shell zsh terminal", "bash -c"),
    ("ruby rb", "ruby -e"),
    ("perl", "perl -e"),
    ("go golang", "yaegi -e"),
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

/// Returns the lines that a call may run.
///
/// Without a [`command`](Call::command), a shell tool has its input in an unknown shape: each text of it is a line, and all
/// texts together are one, so that odd input skips no guard. An unknown tool, or one of an MCP server, may be a shell by
/// another name, run code, or remove and show files: its lines have the same effect. Input that cannot be read has a line
/// that is too deep to be read.
pub fn lines(call: &Call<'_>) -> Vec<String> {
    let mut lines = match (call.command, call.kind) {
        (Some(line), _) => vec![as_shell(call.name, line)],
        (None, ToolKind::Shell) => {
            let mut lines: Vec<String> = texts(call.input).into_iter().map(|it| it.1).collect();
            lines.push(lines.join(" "));
            lines
        }
        (None, ToolKind::Other | ToolKind::Mcp) => {
            let mut lines = of_texts(call.name, &texts(call.input));
            // The words of a command, or lines in a list, as a shell tool has them.
            lines.extend(command_of(call.name, call.input).filter(|it| !lines.contains(it)));
            lines
        }
        (None, _) => return Vec::new(),
    };
    if is_unreadable(call.input) {
        lines.push("$(".repeat(UNREADABLE));
    }
    lines
}

/// Returns lines with the effect of a call. `texts` are the texts of its input, each with the plain name of its field.
fn of_texts(name: &str, texts: &[(String, String)]) -> Vec<String> {
    let mut words = name_words(name);
    let of = |list: &'static str| texts.iter().filter(move |(field, _)| is_in(list, field));
    words.extend(of(ACTIONS).filter(|it| it.1.len() < 32).flat_map(|it| name_words(&it.1)));
    let is_one = |list: &str| words.iter().any(|word| is_in(list, word));
    let mut lines: Vec<String> =
        LINES.split_ascii_whitespace().flat_map(|field| line(field, texts)).collect();
    let server: Vec<String> =
        name.rsplit_once("__").map(|(server, _)| name_words(server)).unwrap_or_default();
    let is_typed = || is_one(TYPES) && server.iter().any(|word| is_in(SHELLS, word));
    let is_runner = is_one(RUNS) || is_typed();
    let named = words.iter().chain(server.iter().filter(|_| is_runner)).find(|word| is_in(NAMED, word));
    let arguments = arguments(texts);
    let with: Vec<String> =
        lines.iter().filter(|_| !arguments.is_empty()).map(|it| format!("{it}{arguments}")).collect();
    let of_program = named.into_iter().flat_map(|program| {
        let whole =
            lines.iter().filter(|line| !line.starts_with(program.as_str())).map(|it| format!(" {it}"));
        let alone = Some(arguments.clone()).filter(|it| !it.is_empty());
        whole.chain(alone).map(move |it| format!("{program}{it}"))
    });
    let of_program: Vec<String> = of_program.collect();
    // `argv` alone has the program, too.
    let whole = if lines.is_empty() { line("argv", texts) } else { Vec::new() };
    lines.extend(with.into_iter().chain(of_program).chain(whole));
    if is_runner {
        let is_other = |field: &str| {
            let is_argument = is_in(ARGUMENTS, field) && !lines.is_empty();
            !is_argument
                && ![LINES, PROSE, CODE, RUN_CODE, STATEMENTS, OTHER].iter().any(|it| is_in(it, field))
        };
        let other = texts.iter().filter(|(field, _)| is_other(field));
        let other: Vec<&str> = other.map(|(_, text)| text.as_str()).filter(|it| !it.is_empty()).collect();
        let words: Vec<String> = other.iter().map(|it| quoted(it)).collect();
        let whole = Some(words.join(" ")).filter(|_| lines.is_empty() && words.len() > 1);
        let all = other.into_iter().map(str::to_owned).chain(whole);
        let new: Vec<String> = all.filter(|it| !lines.contains(it)).collect();
        lines.extend(new);
    }
    let lower = name.to_ascii_lowercase();
    if DATABASES.iter().any(|it| lower.contains(it)) {
        lines.extend(of(STATEMENTS).map(|(_, text)| format!("psql -c {}", quoted(text))));
    }
    let is_script = is_one("python py javascript js node typescript ts ruby perl");
    let scripts = of("script").filter(|_| is_script);
    let run_code = of(RUN_CODE).filter(|_| is_runner);
    for (field, text) in of(CODE).chain(run_code).chain(scripts) {
        // Lines of a notebook that are for a shell.
        lines.extend(text.lines().filter_map(|it| it.trim_start().strip_prefix('!')).map(str::to_owned));
        let cell = text.trim_start().strip_prefix("%%").and_then(|it| it.split_once('\n'));
        lines.extend(
            cell.filter(|(shell, _)| is_in("bash sh script", shell.trim())).map(|(_, it)| it.to_owned()),
        );
        let named = texts.iter().find(|(field, _)| matches!(field.as_str(), "language" | "lang" | "kernel"));
        let is_named = |list: &str| {
            let language = named.map(|it| it.1.to_ascii_lowercase());
            is_one(list)
                || language.is_some_and(|it| is_in(list, &it))
                || is_in(list, field)
                || server.iter().any(|it| is_in(list, it))
        };
        let program = LANGUAGES.iter().find(|it| is_named(it.0)).map_or("python3 -c", |it| it.1);
        lines.push(format!("{program} {}", quoted(text)));
    }
    for (_, text) in texts {
        if text.contains("*** Begin Patch") {
            lines.push(format!("apply_patch {}", quoted(text)));
        } else if text.lines().any(|it| it.starts_with("+++ ")) {
            lines.push(format!("patch -p1 <<< {}", quoted(text)));
        }
    }
    let moves = is_of_moves(&words);
    let paths =
        texts.iter().filter_map(|(field, text)| Some((is_destination(field), path(field, text, moves)?)));
    let mut paths: Vec<(bool, &str)> = paths.collect();
    if moves {
        paths.sort_by_key(|(is_destination, _)| *is_destination);
    }
    let paths: Vec<String> = paths.into_iter().map(|(_, path)| quoted(path)).collect();
    if is_one(REMOVES) {
        // A tool that removes files takes no directory with all that is in it.
        let own = name_words(name);
        let has = |list: &str| own.iter().any(|word| is_in(list, word));
        let program = if has("file files") && has(REMOVES) && !has(TREES) { "rm" } else { "rm -rf" };
        lines.extend(paths.iter().map(|it| format!("{program} {it}")));
    } else if is_one(MOVES) && paths.len() > 1 {
        lines.push(format!("mv {}", paths.join(" ")));
    } else if is_one(COPIES) && paths.len() > 1 {
        lines.push(format!("cp {}", paths.join(" ")));
    } else if is_one(SENDS) {
        lines.extend(paths.iter().map(|it| format!("curl -T {it} https://example.com")));
    } else if is_one(READS) && !is_one(CHANGES) {
        lines.extend(paths.iter().map(|it| format!("cat {it}")));
    }
    lines
}

/// Returns the words of the fields for arguments, each after a space. A single text may be several of them, and JSON has
/// fields of its own.
fn arguments(texts: &[(String, String)]) -> String {
    let words = texts.iter().filter(|it| is_in(ARGUMENTS, &it.0) && !it.1.starts_with(['{', '[']));
    let words: Vec<&str> = words.map(|it| it.1.as_str()).collect();
    match words.as_slice() {
        [whole] => format!(" {whole}"),
        words => words.iter().map(|it| format!(" {}", quoted(it))).collect(),
    }
}

/// Returns the lines in a field: its text, or its texts as words, and as lines if one of them may be a line.
fn line(field: &str, texts: &[(String, String)]) -> Vec<String> {
    let words: Vec<&str> = texts.iter().filter(|it| it.0 == field).map(|it| it.1.as_str()).collect();
    if words.len() < 2 {
        return words.into_iter().map(str::to_owned).collect();
    }
    let whole: Vec<String> = words.iter().map(|it| quoted(it)).collect();
    let is_line = |it: &&str| it.contains(char::is_whitespace);
    // The first of words is a program.
    let is_words = words.first().is_some_and(|it| !is_line(it));
    // The script of `docker run IMAGE sh -c SCRIPT` runs where the other words say. A field of lines has a name in the plural.
    let is_script = |at: usize| {
        let before = at.checked_sub(1).and_then(|it| words.get(it));
        is_words && !field.ends_with('s') && before.is_some_and(|it| matches!(*it, "-c" | "-lc"))
    };
    let is_open = words.iter().enumerate().any(|(at, it)| is_line(it) && !is_script(at));
    let lines = is_open.then(|| whole.iter().map(|it| format!("eval {it}\n")).collect());
    is_words.then(|| whole.join(" ")).into_iter().chain(lines).collect()
}

/// Returns true if the words of a tool's name say that it moves or copies files.
pub(crate) fn is_of_moves(words: &[String]) -> bool {
    words.iter().any(|word| is_in(MOVES, word) || is_in(COPIES, word))
}

/// Returns true if a field of a tool that moves or copies holds the place to which it does.
pub fn is_destination(field: &str) -> bool {
    field == "to" || ["dest", "dst", "target", "new"].iter().any(|it| field.starts_with(it))
}

/// Returns the text of a field if it is a path: absolute, in a home directory, or in a field that says so. A tool that moves
/// files has more such fields.
pub(crate) fn path<'t>(field: &str, text: &'t str, moves: bool) -> Option<&'t str> {
    let path = text.strip_prefix("file://").unwrap_or(text);
    let is_named = ["path", "file", "directory", "dir", "folder", "source", "destination", "uri"]
        .iter()
        .any(|it| field.trim_end_matches('s').ends_with(it))
        || moves && is_in(ENDS, field);
    let is_path = path.starts_with('/') && !path.starts_with("//")
        || path.starts_with("~/")
        || path.starts_with('.') && path.contains('/')
        || is_named && !path.contains("://");
    (is_path && path.len() <= MAX_PATH && !path.is_empty() && !path.contains('\n')).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_tool_with_input_that_is_too_deep_has_a_line_that_is_too_deep() {
        for (levels, expected) in [(100, false), (130, true), (200, true)] {
            let deep = format!("{}\"ls\"{}", "{\"a\":".repeat(levels), "}".repeat(levels));
            let input = serde_json::json!({"x": deep});
            for kind in [ToolKind::Mcp, ToolKind::Other, ToolKind::Shell] {
                let is_deep = |line: &String| {
                    let known = hookbox_shell::Known::default();
                    hookbox_shell::runs(line, &known).unread.contains(&hookbox_shell::Unread::Limit)
                };
                let command = command_of("x", &input).filter(|_| kind == ToolKind::Shell);
                let call = Call { name: "x", kind, command: command.as_deref(), input: &input };
                assert_eq!(lines(&call).iter().any(is_deep), expected, "{levels} {kind:?}");
            }
        }
    }

    #[test]
    fn a_call_is_lines_with_its_effect() {
        for (name, texts, want) in [
            ("mcp__x__run", &[("command", "ls -l")][..], &["ls -l"][..]),
            (
                "mcp__x__run",
                &[("cmd", "rm"), ("cmd", "-rf"), ("cmd", "a b")],
                &["rm -rf 'a b'", "eval rm\neval -rf\neval 'a b'\n"],
            ),
            ("mcp__x__run", &[("command", "rm"), ("command", "-rf"), ("command", "a")], &["rm -rf a"]),
            ("mcp__x__run", &[("command", "sh"), ("command", "-c"), ("command", "rm a")], &["sh -c 'rm a'"]),
            (
                "mcp__x__run",
                &[("commands", "sh"), ("commands", "-c"), ("commands", "rm a")],
                &["sh -c 'rm a'", "eval sh\neval -c\neval 'rm a'\n"],
            ),
            (
                "mcp__x__run_commands",
                &[("commands", "ls"), ("commands", "rm -rf a")],
                &["ls 'rm -rf a'", "eval ls\neval 'rm -rf a'\n"],
            ),
            ("mcp__x__run", &[("commands", "ls a"), ("commands", "rm b")], &["eval 'ls a'\neval 'rm b'\n"]),
            ("mcp__ide__executeCode", &[("code", "f('x')")], &["python3 -c 'f('\\''x'\\'')'"]),
            ("mcp__x__eval_js", &[("code", "f()")], &["node -e 'f()'"]),
            ("mcp__x__run", &[("code", "f()"), ("language", "go")], &["yaegi -e 'f()'"]),
            ("mcp__x__run", &[("code", "ls"), ("language", "bash")], &["bash -c ls", "ls"][..1]),
            ("mcp__fs__delete_directory", &[("path", "/srv/x")], &["rm -rf /srv/x"]),
            ("mcp__fs__deleteFile", &[("name", "x")], &[]),
            ("mcp__fs__deleteFile", &[("path", "/x")], &["rm /x"]),
            ("mcp__fs__delete_files_and_folders", &[("paths", "/x")], &["rm -rf /x"]),
            ("mcp__fs__remove", &[("path", "/x")], &["rm -rf /x"]),
            ("mcp__x__run", &[("command", "rm"), ("args", "-rf"), ("args", "a b")], &["rm", "rm -rf 'a b'"]),
            ("mcp__x__start", &[("program", "rm"), ("arguments", "-rf src")], &["rm", "rm -rf src"]),
            ("mcp__pg__query", &[("query", "DROP TABLE a")], &[]),
            ("mcp__postgres__query", &[("sql", "DROP TABLE a")], &["psql -c 'DROP TABLE a'"]),
            ("mcp__fs__file", &[("action", "delete"), ("path", "/x")], &["rm -rf /x"]),
            ("mcp__pc__write_to_process", &[("input", "rm -rf src")], &["rm -rf src"]),
            ("mcp__x__search", &[("input", "rm -rf src")], &[]),
            ("mcp__git__git", &[("command", "reset --hard")], &["reset --hard", "git reset --hard"]),
            ("mcp__k8s__kubectl", &[("args", "delete ns prod")], &["kubectl delete ns prod"]),
            ("mcp__nb__run_cell", &[("cell_content", "")], &[]),
            (
                "mcp__nb__execute_code",
                &[("code", "!rm -rf src")],
                &["rm -rf src", "python3 -c '!rm -rf src'"],
            ),
            ("mcp__drive__upload_file", &[("localpath", "/k")], &["curl -T /k https://example.com"]),
            ("mcp__fs__copy_file", &[("source", "/a"), ("destination", "/b")], &["cp /a /b"]),
            ("mcp__fs__move_file", &[("source", "/a"), ("destination", "/b")], &["mv /a /b"]),
            ("mcp__fs__read_multiple_files", &[("paths", "~/.ssh/id_rsa")], &["cat '~/.ssh/id_rsa'"]),
            ("mcp__fetch__fetch", &[("url", "file:///etc/shadow")], &["cat /etc/shadow"]),
            ("mcp__fetch__fetch", &[("url", "https://example.org/a")], &[]),
            ("mcp__fs__write_file", &[("path", "/a"), ("content", "x")], &[]),
            ("mcp__fs__read_and_write", &[("path", "/a")], &[]),
            ("mcp__x__patch", &[("patch", "*** Begin Patch")], &["apply_patch '*** Begin Patch'"]),
            ("TodoWrite", &[("content", "delete /srv/x")], &[]),
            // A tool that runs something may call its line anything.
            ("mcp__x__run", &[("steps", "ls"), ("steps", "rm -rf a")], &["ls", "rm -rf a", "ls 'rm -rf a'"]),
            ("mcp__x__exec", &[("what", "rm"), ("list", "-rf")], &["rm", "-rf", "rm -rf"]),
            ("mcp__x__exec", &[("command", "ls"), ("run", "rm -rf a")], &["ls", "rm -rf a"]),
            ("mcp__x__run", &[("bin", "rm"), ("argv", "-rf"), ("argv", "a")], &["rm", "rm -rf a"]),
            ("mcp__x__start", &[("argv", "rm"), ("argv", "-rf"), ("argv", "a")], &["rm -rf a"]),
            ("mcp__x__run", &[("command", "ls"), ("description", "rm -rf a")], &["ls"]),
            ("mcp__tmux__send-keys", &[("text", "rm -rf a")], &["rm -rf a"]),
            ("mcp__mail__send", &[("text", "rm -rf a")], &[]),
            ("mcp__git__run", &[("args", "push"), ("args", "-f")], &["git push -f"]),
            ("mcp__jupyter__execute", &[("source", "f()")], &["python3 -c 'f()'"]),
            ("mcp__web__evaluate", &[("javascript", "f()")], &["node -e 'f()'"]),
            ("mcp__x__apply", &[("diff", "--- a/x\n+++ b/x")], &["patch -p1 <<< '--- a/x\n+++ b/x'"]),
        ] {
            let texts: Vec<(String, String)> =
                texts.iter().map(|it| (it.0.to_owned(), it.1.to_owned())).collect();
            assert_eq!(of_texts(name, &texts), want, "{name} {texts:?}");
        }
    }

    #[test]
    fn input_that_cannot_be_read_is_a_line_that_cannot_be_read() {
        let deep = format!("{}\"rm x\"{}", "{\"a\":".repeat(200), "}".repeat(200));
        for (input, expected) in [
            (json!("{\"command\": \"rm x"), true),
            (json!(" {'command': 'rm x'}"), true),
            (json!("{\"command\": \"rm x\",}"), true),
            (json!(deep), true),
            (json!({"command": {"a": deep}}), true),
            (json!({"command": "ls", "b": [deep]}), true),
            (json!({"command": "{ ls; }"}), false),
            (json!({"command": "[ -f a ] && ls"}), false),
            (json!({"command": "ls", "description": "[WIP] {x"}), false),
            (json!("[ -f a ] && ls"), false),
        ] {
            for tool in ["bash", "x"] {
                let (kind, command) = (crate::kind_of(tool), crate::command_of(tool, &input));
                let command = command.as_deref().filter(|_| kind == ToolKind::Shell);
                let line = lines(&Call { name: tool, kind, command, input: &input }).join("\n");
                let unread = hookbox_shell::runs(&line, &hookbox_shell::Known::default()).unread;
                assert_eq!(unread.contains(&hookbox_shell::Unread::Limit), expected, "{input}");
            }
        }
    }
}
