"""The facts of a tool call, worked out without the host: the same words, from a smaller table."""

import os.path
from typing import Any, cast

from ..events import ResolvedPath, ToolCall, ToolKind
from ..facts import CallFacts, File, FileUse

_KINDS: dict[ToolKind, str] = {
    "shell": "bash shell sh powershell run_shell_command execute_command exec_command local_shell",
    "read": "read read_file file_read view view_image read_many_files notebookread",
    "write": "write write_file file_write create",
    "edit": "edit file_edit multiedit replace str_replace apply_patch notebookedit edit_file",
    "search": "grep grep_tool glob glob_tool ls list_directory search_file_content grep_search",
    "fetch": "webfetch web_fetch fetch websearch web_search google_web_search",
    "agent": "task agent subagent spawn_agent",
}
"""Tools by the names that agents give them, in lower case."""

_PATH_FIELDS = ("file_path", "path", "filename", "absolute_path", "notebook_path", "dir_path")
"""The fields in which tools name a file or a directory."""


def kind_of(name: str) -> ToolKind:
    """Returns the kind of a tool."""
    lower = name.lower()
    if lower.startswith(("mcp__", "mcp_")):
        return "mcp"
    for kind, names in _KINDS.items():
        if lower in names.split():
            return kind
    return "other"


def command_of(kind: ToolKind, given: Any) -> str | None:
    """Returns the shell line of a shell tool; a list of words becomes one."""
    if kind != "shell" or not isinstance(given, dict):
        return None
    fields = cast(dict[str, Any], given)
    found = next((fields[name] for name in ("command", "cmd", "script") if name in fields), None)
    if isinstance(found, str):
        return found
    words = cast(list[Any], found) if isinstance(found, list) else None
    if words is None or not all(isinstance(it, str) for it in words):
        return None
    # `["bash", "-lc", LINE]` is how some agents write a line.
    if len(words) == 3 and words[0].endswith("sh") and words[1].startswith("-") and words[1].endswith("c"):
        return words[2]
    return " ".join(words)


def paths_of(kind: ToolKind, given: Any, cwd: str) -> list[ResolvedPath]:
    """Returns the paths of a file tool."""
    if kind not in ("read", "write", "edit", "search") or not isinstance(given, dict):
        return []
    fields = cast(dict[str, Any], given)
    here = os.path.realpath(cwd)
    named = [it for name in _PATH_FIELDS if isinstance(it := fields.get(name), str) and it]
    found = [os.path.realpath(os.path.join(cwd, it)) for it in named]
    return [ResolvedPath(it, os.path.commonpath([here, it]) == here) for it in found]


def facts_of(call: ToolCall) -> CallFacts:
    """Returns the line of a shell tool, and the paths of a file tool."""
    usage: FileUse = "writes" if call.kind in ("write", "edit") else "reads"
    lines = [] if call.command is None else [call.command]
    return CallFacts(lines, [File(it.path, usage) for it in call.paths])
