//! What the host works out about a tool call, once, so that a guard is portable and need not parse.
//!
//! Agents name the same tool differently: `Bash`, `bash`, `shell`, `run_shell_command`. The table [`ALIASES`]
//! says what each name means. Names are compared without regard to case, `_`, `-` and `.`, so that `WebFetch`,
//! `webfetch` and `web_fetch` are one entry. Facts help; they are never a reason to hide the raw input.

mod command;
mod paths;

use std::path::Path;

pub(crate) use self::paths::MAX_PATHS;

use crate::event::{Document, Facts, ToolKind};

/// The tools of the agents by what they do: Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, kodelet,
/// Cursor, OpenCode and editors of their kind; lower case, without `_`, `-` and `.`.
const ALIASES: [(ToolKind, &[&str]); 7] = [
    (
        ToolKind::Shell,
        &[
            // Claude Code: Bash, PowerShell, Monitor; kodelet, Copilot, OpenCode: bash
            "bash",
            "powershell",
            "monitor",
            // Codex: shell, local_shell, shell_command, exec_command, write_stdin, container.exec, unified_exec
            "shell",
            "localshell",
            "shellcommand",
            "execcommand",
            "writestdin",
            "containerexec",
            "unifiedexec",
            // Gemini and Qwen: run_shell_command
            "runshellcommand",
            // Copilot: write_bash, write_powershell
            "writebash",
            "writepowershell",
            // Cursor and other editors: run_terminal_cmd, run_in_terminal, execute_command
            "runterminalcmd",
            "runterminalcommand",
            "runinterminal",
            "runcommand",
            "executecommand",
            "executebash",
            "terminal",
            "exec",
            "sh",
            "zsh",
            "pwsh",
        ],
    ),
    (
        ToolKind::Read,
        &[
            // Claude Code: Read, NotebookRead; OpenCode: read; Copilot: view
            "read",
            "notebookread",
            "view",
            // Gemini, Qwen, Cursor: read_file, read_many_files; kodelet: file_read
            "readfile",
            "readmanyfiles",
            "readfiles",
            "fileread",
            "openfile",
            "viewfile",
            "viewimage",
            "cat",
        ],
    ),
    (
        ToolKind::Write,
        &[
            // Claude Code, OpenCode: Write; Copilot: create
            "write",
            "create",
            // Gemini, Qwen: write_file; kodelet: file_write
            "writefile",
            "filewrite",
            "writetofile",
            "createfile",
            "savefile",
            // What removes or moves a file changes it too (Cursor: delete_file).
            "delete",
            "deletefile",
            "removefile",
            "movefile",
            "renamefile",
        ],
    ),
    (
        ToolKind::Edit,
        &[
            // Claude Code: Edit, MultiEdit, NotebookEdit; OpenCode: edit, patch, multiedit
            "edit",
            "multiedit",
            "notebookedit",
            "patch",
            // Codex: apply_patch
            "applypatch",
            // Gemini, Qwen: replace, edit
            "replace",
            // Copilot, and the model's own editor tool: str_replace, str_replace_editor, insert
            "strreplace",
            "strreplaceeditor",
            "strreplacebasededittool",
            "insert",
            // kodelet: file_edit, file_multi_edit
            "fileedit",
            "filemultiedit",
            // Cursor and other editors
            "editfile",
            "editfiles",
            "editnotebook",
            "searchreplace",
            "replaceinfile",
            "applydiff",
            "inserteditintofile",
            "replacestringinfile",
        ],
    ),
    (
        ToolKind::Search,
        &[
            // Claude Code: Glob, Grep, LS; OpenCode: glob, grep, list; kodelet: glob_tool, grep_tool
            "glob",
            "globtool",
            "grep",
            "greptool",
            "ls",
            "list",
            // Gemini, Qwen: search_file_content, grep_search, list_directory
            "searchfilecontent",
            "grepsearch",
            "listdirectory",
            // Codex, Copilot, Cursor
            "listdir",
            "listfiles",
            "filesearch",
            "searchfiles",
            "findfiles",
            "grepfiles",
            "codebasesearch",
            "codesearch",
            "semanticsearch",
            "find",
            "rg",
        ],
    ),
    (
        ToolKind::Fetch,
        &[
            // Claude Code: WebFetch, WebSearch; Gemini: web_fetch, google_web_search; kodelet: web_fetch
            "webfetch",
            "websearch",
            "googlewebsearch",
            "fetch",
            "fetchurl",
            "fetchwebpage",
        ],
    ),
    (
        ToolKind::Agent,
        &[
            // Claude Code: Task, Agent; OpenCode: task; kodelet: subagent; Codex: spawn_agent
            "task",
            "agent",
            "subagent",
            "spawnagent",
            "runsubagent",
            "newtask",
            "delegatetoagent",
        ],
    ),
];

/// What a tool of this name does; [`ToolKind::Other`] for a name that the table does not hold.
///
/// `mcp__SERVER__TOOL` (Claude Code, Codex) and `mcp_SERVER_TOOL` (Gemini, Qwen) are tools of MCP servers.
pub fn kind_of(name: &str) -> ToolKind {
    let server_tool = name.get(..4).is_some_and(|head| head.eq_ignore_ascii_case("mcp_"));
    let name = plain(name);
    // The tools with which Claude Code and Codex list and read what a server offers.
    if server_tool || name.contains("mcpresource") {
        return ToolKind::Mcp;
    }
    let known = ALIASES.iter().find(|(_, names)| names.contains(&name.as_str()));
    known.map_or(ToolKind::Other, |(kind, _)| *kind)
}

/// The facts of a call of `name` with `input`, by an agent that works in `cwd` for a user whose home is `home`.
///
/// * `command`: for a shell tool, the line, whatever the field is called. An array of words is joined, quoted
///   where needed; of `["bash", "-lc", "ls"]` the script is the line. Where several such fields are given, all
///   of them, one a line: which of them the tool obeys is not known here.
/// * `paths`: for tools that read, write, edit or search files, what their path fields and the file lines of an
///   `apply_patch` name. Relative paths start at `cwd`, `~` is `home`, and symlinks are followed the way the
///   kernel does it, before `..` is taken away; what does not exist is appended as it stands. At most
///   256 paths. A path that cannot be followed to its end within the bounds is never `inside`.
///
/// This looks at the file system (`lstat`, `readlink`), so what it says can be outdated a moment later.
pub fn of(name: &str, input: &Document, cwd: &Path, home: Option<&Path>) -> Facts {
    let kind = kind_of(name);
    let mut facts = Facts { kind, ..Facts::default() };
    match kind {
        ToolKind::Shell => facts.command = command::line(&plain(name), input.value()),
        ToolKind::Read | ToolKind::Write | ToolKind::Edit | ToolKind::Search => {
            facts.paths = paths::of(&plain(name), input.value(), cwd, home);
        }
        ToolKind::Fetch | ToolKind::Mcp | ToolKind::Agent | ToolKind::Other => {}
    }
    facts
}

/// A name of a tool or a field in the form of the tables. No name in them is longer than 64 letters.
fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | '.')).take(65).map(|c| c.to_ascii_lowercase()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_tools_of_every_agent_are_known_by_their_names() {
        use ToolKind::{Agent, Edit, Fetch, Mcp, Other, Read, Search, Shell, Write};
        let table: &[(ToolKind, &[&str])] = &[
            (
                Shell,
                &["Bash", "bash", "shell", "local_shell", "run_shell_command", "exec_command", "PowerShell"],
            ),
            (Read, &["Read", "read_file", "read_many_files", "file_read", "view", "read", "NotebookRead"]),
            (Write, &["Write", "write_file", "file_write", "create", "write", "delete_file"]),
            (Edit, &["Edit", "MultiEdit", "NotebookEdit", "replace", "str_replace", "apply_patch", "patch"]),
            (Search, &["Glob", "Grep", "LS", "glob_tool", "grep_search", "list_directory", "list"]),
            (Fetch, &["WebFetch", "WebSearch", "web_fetch", "google_web_search", "webfetch"]),
            (Mcp, &["mcp__t__echo", "mcp_t_echo", "ReadMcpResourceTool"]),
            (Agent, &["Task", "Agent", "subagent", "task"]),
            (Other, &["", "TodoWrite", "BashOutput", "echo", "mcp", "mcporter", "bash ", "ｂａｓｈ"]),
        ];
        for (kind, names) in table {
            for name in *names {
                assert_eq!(kind_of(name), *kind, "{name:?}");
            }
        }
    }

    #[test]
    fn every_alias_is_in_the_form_in_which_it_is_looked_up() {
        let mut seen = std::collections::HashSet::new();
        for name in ALIASES.iter().flat_map(|(_, names)| *names) {
            assert_eq!(plain(name), *name);
            assert!(seen.insert(name), "{name} stands there twice");
        }
    }

    #[test]
    fn a_patch_inside_a_shell_line_stays_a_shell_line() {
        let line = "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: a.txt\n+hi\n*** End Patch\nEOF\n";
        let facts = of("Bash", &json!({"command": line}).into(), Path::new("/"), None);
        assert_eq!(facts, Facts { kind: ToolKind::Shell, command: Some(line.to_owned()), paths: vec![] });
    }

    #[test]
    fn odd_input_has_fewer_facts_and_no_panic() {
        for input in [json!(null), json!(5), json!([]), json!({"command": {"a": 1}, "path": {"path": 5}})] {
            for name in ["Bash", "Read", "apply_patch", "mcp__a__b", "\0"] {
                let facts = of(name, &input.clone().into(), Path::new(""), None);
                assert_eq!((facts.command, facts.paths), (None, vec![]), "{name} {input}");
            }
        }
    }
}
