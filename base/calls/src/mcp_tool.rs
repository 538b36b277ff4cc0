//! The names of tools of MCP servers, in the spellings of the agents.

use crate::ToolKind;

/// Returns the server and the tool that a name of an MCP tool may mean, the likeliest first; nothing for any other name.
///
/// `mcp__SERVER__TOOL` and `@SERVER/TOOL` say both. `mcp_SERVER_TOOL` may be read in several ways if a name has a `_`.
/// `MCP:TOOL` does not say the server.
pub fn mcp_names(name: &str) -> impl Iterator<Item = (Option<&str>, &str)> {
    let strip = |head: &str| {
        let begins = name.get(..head.len()).is_some_and(|it| it.eq_ignore_ascii_case(head));
        name.get(head.len()..).filter(|_| begins)
    };
    let whole = strip("mcp__").and_then(|rest| rest.split_once("__"));
    let whole = whole.or_else(|| strip("@")?.split_once('/'));
    let alone = strip("mcp:").filter(|tool| !tool.is_empty());
    let joined = strip("mcp_").filter(|_| whole.is_none()).unwrap_or_default();
    let cuts = joined.match_indices('_').take(MAX_CUTS).filter_map(|(at, _)| joined.split_at_checked(at));
    let readings = cuts.map(|(server, tool)| (server, tool.trim_start_matches('_')));
    let said =
        whole.into_iter().chain(readings).filter(|(server, tool)| !server.is_empty() && !tool.is_empty());
    said.map(|(server, tool)| (Some(server), tool)).chain(alone.map(|tool| (None, tool)))
}

/// Returns the tools that a call of this kind may mean, if it is on this MCP server, in the spelling of any agent.
///
/// Beside the spellings of [`mcp_names`], a call may be `SERVER-TOOL` or `SERVER_TOOL`, of a
/// tool that hookbox does not know. Only letters and digits count, in any case: agents replace the others.
pub fn tools_on<'a>(server: &str, called: &'a str, kind: ToolKind) -> impl Iterator<Item = &'a str> {
    let is_it = move |name: &str| letters(name).eq(letters(server));
    let named = mcp_names(called).filter(move |(server, _)| server.is_none_or(is_it)).map(|(_, tool)| tool);
    let joined = if kind == ToolKind::Other { called } else { "" };
    let cuts = joined.match_indices(['-', '_']).take(MAX_CUTS);
    let cuts = cuts.filter_map(|(at, cut)| Some((joined.get(..at)?, joined.get(at + cut.len()..)?)));
    named.chain(cuts.filter(move |(server, _)| is_it(server)).map(|(_, tool)| tool))
}

/// Returns true if `called`, of this kind, is the tool of an MCP server that `wanted` names, in the spelling of
/// any agent.
pub fn is_same_mcp_tool(wanted: &str, called: &str, kind: ToolKind) -> bool {
    mcp_names(wanted).filter(|(_, tool)| letters(tool).next().is_some()).any(|(server, tool)| {
        let is_it = |name: &str| letters(name).eq(letters(tool));
        match server {
            Some(server) => tools_on(server, called, kind).any(is_it),
            None => mcp_names(called).any(|(_, name)| is_it(name)),
        }
    })
}

/// Returns the letters and digits of a name in lower case.
fn letters(name: &str) -> impl Iterator<Item = char> + '_ {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase)
}

/// In how many ways the name of an MCP tool is read.
const MAX_CUTS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_of_a_server_is_read_in_every_spelling() {
        for (name, want) in [
            ("mcp__t__echo", vec![(Some("t"), "echo")]),
            ("mcp__my_server__a__b", vec![(Some("my_server"), "a__b")]),
            ("mcp_t_echo", vec![(Some("t"), "echo")]),
            ("mcp_my_server_x", vec![(Some("my"), "server_x"), (Some("my_server"), "x")]),
            ("MCP:echo", vec![(None, "echo")]),
            ("@t/echo", vec![(Some("t"), "echo")]),
            ("@t", vec![]),
            ("@/echo", vec![]),
            ("mcp_", vec![]),
            ("mcp__", vec![]),
            ("mcp_echo", vec![]),
            ("Bash", vec![]),
            ("", vec![]),
        ] {
            assert_eq!(mcp_names(name).collect::<Vec<_>>(), want, "{name:?}");
        }
    }

    #[test]
    fn a_tool_of_a_server_is_the_same_in_every_spelling() {
        for (wanted, called, want) in [
            ("mcp__git-hub__create_issue", "mcp__git-hub__create_issue", true),
            ("mcp__git-hub__create_issue", "mcp_git_hub_create_issue", true),
            ("mcp__git-hub__create_issue", "MCP:create_issue", true),
            ("mcp__git-hub__create_issue", "git-hub-create_issue", true),
            ("mcp__git-hub__create_issue", "git-hub_create_issue", true),
            ("mcp_git_hub_create_issue", "mcp__git-hub__create_issue", true),
            ("MCP:create_issue", "mcp__any__create_issue", true),
            ("mcp__git-hub__create_issue", "mcp__other__create_issue", false),
            ("mcp__git-hub__create_issue", "mcp__git-hub__create", false),
            ("mcp__git-hub__create_issue", "create_issue", false),
            ("mcp__git-hub__create_issue", "git-hub-create", false),
            ("mcp__git__hub", "git-hub-create", false),
            ("mcp__run__shell_command", "run_shell_command", false),
            ("create_issue", "mcp__git-hub__create_issue", false),
            ("mcp__a__-", "mcp__a___", false),
            ("", "", false),
        ] {
            let kind = if called == "run_shell_command" { ToolKind::Shell } else { ToolKind::Other };
            assert_eq!(is_same_mcp_tool(wanted, called, kind), want, "{wanted} {called}");
        }
    }
}
