//! The tools of the agents, each under all of its names: one table, read in both directions.

use hookbox_shell::is_in;
use serde::Serialize;
use serde_json::Value;

/// The purpose of a tool, whatever its name is in an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolKind {
    /// Runs a command line.
    Shell,
    /// Reads files.
    Read,
    /// Creates or replaces files.
    Write,
    /// Changes files in place.
    Edit,
    /// Searches or lists files.
    Search,
    /// Fetches from the network.
    Fetch,
    /// A tool of an MCP server.
    Mcp,
    /// Starts another agent.
    Agent,
    /// Anything else.
    #[default]
    Other,
}

impl ToolKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Shell,
        Self::Read,
        Self::Write,
        Self::Edit,
        Self::Search,
        Self::Fetch,
        Self::Mcp,
        Self::Agent,
        Self::Other,
    ];

    /// Returns the name, such as `shell`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shell => "shell",
            Self::Read => "read",
            Self::Write => "write",
            Self::Edit => "edit",
            Self::Search => "search",
            Self::Fetch => "fetch",
            Self::Mcp => "mcp",
            Self::Agent => "agent",
            Self::Other => "other",
        }
    }

    /// Returns true for a tool that is about files.
    pub fn is_of_files(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Edit | Self::Search)
    }
}

/// Fields of an editor with the action, and actions that only show a file.
const ACTIONS: &str = "command action op operation type mode subcommand";
const SHOWS: &str = "view read open cat show";

/// One tool under the names that agents give it.
struct Tool {
    kind: ToolKind,
    /// Claude Code's name for it; `None` if Claude Code has no such tool.
    claude: Option<&'static str>,
    /// Other names of Claude Code that hooks use for it.
    also: &'static [&'static str],
    /// Its names, lower case, without `_`, `-` and `.`.
    names: &'static str,
}

impl Tool {
    const fn new(kind: ToolKind, claude: &'static str, names: &'static str) -> Self {
        Self { kind, claude: Some(claude), also: &[], names }
    }

    /// A tool that Claude Code does not have.
    const fn foreign(kind: ToolKind, names: &'static str) -> Self {
        Self { kind, claude: None, also: &[], names }
    }

    /// Adds other names under which hooks know the tool.
    const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }
}

/// The tools of agents by what they do, in all of their names, and Claude Code's name for each, which is what its hooks
/// expect. The table of an agent has the names that it uses.
const ALIASES: [Tool; 21] = [
    Tool::new(
        ToolKind::Shell,
        "Bash",
        "bash shell localshell shellcommand execcommand writestdin containerexec unifiedexec \
        runshellcommand writebash runterminalcmd runterminalcommand runinterminal runcommand runcommands \
        executecommand executebash executecmd execute filesystembash launchprocess writeprocess terminal exec \
        writetoprocess developershell asyncshellcommand sh zsh",
    ),
    Tool::new(ToolKind::Shell, "PowerShell", "powershell writepowershell pwsh"),
    Tool::new(ToolKind::Shell, "Monitor", "monitor"),
    Tool::new(
        ToolKind::Read,
        "Read",
        "read view readfile readmanyfiles readfiles fileread openfile viewfile viewimage \
        filesystemreadfile fsread cat",
    ),
    Tool::new(ToolKind::Read, "NotebookRead", "notebookread"),
    Tool::new(
        ToolKind::Write,
        "Write",
        "write create writefile filewrite writetofile createfile savefile filesystemwritefile \
        developerwrite fswrite fsappend",
    ),
    // A tool that removes, moves or downloads a file changes it too. Claude Code uses the shell.
    Tool::foreign(ToolKind::Write, "delete deletefile removefile removefiles movefile renamefile download"),
    Tool::new(
        ToolKind::Edit,
        "Edit",
        "edit replace strreplace strreplaceeditor strreplacebasededittool insert fileedit editfile \
        editfiles searchreplace replaceinfile applydiff inserteditintofile editor replacestringinfile \
        fileeditor filesystemedit replacefilecontent multireplacefilecontent developeredit \
        developertexteditor texteditor lspreplacesymbol",
    ),
    Tool::new(ToolKind::Edit, "MultiEdit", "multiedit filemultiedit"),
    Tool::new(ToolKind::Edit, "NotebookEdit", "notebookedit editnotebook"),
    // Hooks may name a patch in Claude Code's words as well.
    Tool::foreign(ToolKind::Edit, "applypatch patch").also(&["Edit", "Write"]),
    Tool::new(ToolKind::Search, "Glob", "glob globtool filesearch searchfiles findfiles findbyname find"),
    Tool::new(ToolKind::Search, "Grep", "grep greptool searchfilecontent grepsearch grepfiles codesearch rg"),
    Tool::new(ToolKind::Search, "LS", "ls list listdirectory listdir listfiles tree developertree"),
    // A search by meaning or expressions.
    Tool::foreign(ToolKind::Search, "codebasesearch semanticsearch searchcodebase codebaseretrieval"),
    Tool::new(
        ToolKind::Fetch,
        "WebFetch",
        "webfetch fetch fetchurl fetchwebpage fetchwebcontent readurlcontent agenticfetch \
        readwebpage",
    ),
    Tool::new(ToolKind::Fetch, "WebSearch", "websearch googlewebsearch searchweb"),
    Tool::new(ToolKind::Agent, "Agent", "task agent subagent spawnagent runsubagent newtask delegatetoagent")
        .also(&["Task"]),
    // The tools that list and read what a server offers.
    Tool::new(ToolKind::Mcp, "ListMcpResourcesTool", "listmcpresourcestool listmcpresources"),
    Tool::new(ToolKind::Mcp, "ReadMcpResourceTool", "readmcpresourcetool readmcpresource"),
    Tool::foreign(ToolKind::Mcp, "listmcpresourcetemplates"),
];

/// The entry of a tool by any agent's name for it.
fn tool(name: &str) -> Option<&'static Tool> {
    let name = plain(name);
    ALIASES.iter().find(|tool| is_in(tool.names, &name))
}

/// Returns Claude Code's name for the tool that another agent calls `name`.
///
/// `None` if Claude Code has no such tool, if the name is unknown, or if it already is Claude Code's.
pub fn claude_name(name: &str) -> Option<&'static str> {
    let tool = tool(name)?;
    tool.claude.filter(|claude| *claude != name && !tool.also.contains(&name))
}

/// Every name of Claude Code by which a hook may mean the tool `name`.
pub fn claude_names(name: &str) -> impl Iterator<Item = &'static str> {
    tool(name).into_iter().flat_map(|tool| tool.claude.into_iter().chain(tool.also.iter().copied()))
}

/// Returns the kind of a tool by its name; [`ToolKind::Other`] for a name that is not in the table.
///
/// `mcp__SERVER__TOOL`, `mcp_SERVER_TOOL`, `@SERVER/TOOL` and `MCP:TOOL` are tools of MCP servers.
pub fn kind_of(name: &str) -> ToolKind {
    let server_tool =
        name.get(..4).is_some_and(|head| ["mcp_", "mcp:"].iter().any(|it| head.eq_ignore_ascii_case(it)));
    let is_at_server = name.starts_with('@') && name.contains('/');
    let name = plain(name);
    if server_tool || is_at_server || name.contains("mcpresource") {
        return ToolKind::Mcp;
    }
    let known = ALIASES.iter().find(|tool| is_in(tool.names, &name));
    known.map_or(ToolKind::Other, |tool| tool.kind)
}

/// Returns the kind of a call: that of its tool, or of the action of an editor, which may only show a file.
pub fn kind_of_call(name: &str, input: &Value) -> ToolKind {
    match kind_of(name) {
        ToolKind::Edit if shows(input) == Some(true) => ToolKind::Read,
        kind => kind,
    }
}

/// Returns true if an editor only shows a file by the action in its input; `None` if one of several actions does.
pub(crate) fn shows(input: &Value) -> Option<bool> {
    let fields = input.as_object().into_iter().flatten().filter(|(name, _)| is_in(ACTIONS, &plain(name)));
    let mut shown = fields.filter_map(|(_, it)| it.as_str()).map(|it| is_in(SHOWS, &it.to_ascii_lowercase()));
    let first = shown.next().unwrap_or_default();
    shown.all(|it| it == first).then_some(first)
}

/// Returns the name of a tool or a field in the form of the tables: in lower case, without `_`, `-` and `.`. No name in
/// them is longer than 64 letters.
pub fn plain(name: &str) -> String {
    let letters = name.chars().filter(|c| !matches!(c, '_' | '-' | '.')).take(65);
    let mut plain = String::with_capacity(name.len().min(65));
    plain.extend(letters.map(|c| c.to_ascii_lowercase()));
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
            (Mcp, &["mcp__t__echo", "mcp_t_echo", "@t/echo", "MCP:echo", "ReadMcpResourceTool"]),
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
    fn an_editor_that_shows_a_file_reads_it() {
        for (name, input, kind) in [
            ("str_replace_editor", json!({"command": "view", "path": "a"}), ToolKind::Read),
            ("file_editor", json!({"Action": "VIEW", "path": "a"}), ToolKind::Read),
            ("text_editor", json!({"command": "create", "path": "a"}), ToolKind::Edit),
            ("edit", json!({"path": "a", "new_string": "view"}), ToolKind::Edit),
            ("edit", json!({"command": "view", "action": "create"}), ToolKind::Edit),
            ("write_file", json!({"mode": "view"}), ToolKind::Write),
            ("bash", json!({"command": "view"}), ToolKind::Shell),
            ("edit", json!("view"), ToolKind::Edit),
        ] {
            assert_eq!(kind_of_call(name, &input), kind, "{name} {input}");
        }
        assert_eq!(shows(&json!({"command": "view", "action": "create"})), None);
    }

    #[test]
    fn every_alias_is_in_the_form_in_which_it_is_looked_up() {
        let mut seen = std::collections::HashSet::new();
        for name in ALIASES.iter().flat_map(|tool| tool.names.split_ascii_whitespace()) {
            assert_eq!(plain(name), *name);
            assert!(seen.insert(name), "{name} appears twice");
        }
    }

    #[test]
    fn a_tool_has_claude_codes_name_where_it_has_such_a_tool() {
        for (name, want) in [
            ("bash", Some("Bash")),
            ("run_shell_command", Some("Bash")),
            ("container.exec", Some("Bash")),
            ("file_write", Some("Write")),
            ("view", Some("Read")),
            ("replace", Some("Edit")),
            ("grep_tool", Some("Grep")),
            ("task", Some("Agent")),
            ("list_dir", Some("LS")),
            ("Bash", None),
            ("Task", None),
            ("delete_file", None),
            ("apply_patch", None),
            ("mcp__t__echo", None),
            ("TodoWrite", None),
            ("", None),
        ] {
            assert_eq!(claude_name(name), want, "{name:?}");
        }
        assert_eq!(claude_names("apply_patch").collect::<Vec<_>>(), ["Edit", "Write"]);
        assert_eq!(claude_names("subagent").collect::<Vec<_>>(), ["Agent", "Task"]);
    }

    #[test]
    fn the_table_says_the_same_in_both_directions() {
        for tool in &ALIASES {
            let Some(claude) = tool.claude else { continue };
            assert!(is_in(tool.names, &plain(claude)), "{claude} is not found by its own name");
            assert_eq!(kind_of(claude), tool.kind, "{claude}");
        }
    }
}
