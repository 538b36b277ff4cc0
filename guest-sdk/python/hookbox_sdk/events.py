"""The data of every event. A value that the agent did not give is `None`, never an invented default."""

# Written by `cargo xtask tables`. Change wit/types.wit instead.

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from .values import Document, FailedHook, FailedTurn, Usage


InvokedBy = Literal["main", "subagent"]
"""The cause of an event."""


@dataclass(frozen=True)
class TokenBudget:
    """The used part of the context window, for guards of a budget."""

    used_tokens: int
    """Tokens in the context window now."""
    effective_limit: int
    """Tokens at which it is full."""


@dataclass(frozen=True)
class Context:
    """The context of an event. It comes with every event."""

    conversation_id: str = ""
    """The conversation."""
    cwd: str = ""
    """The agent's working directory, absolute. A component cannot open it unless that was granted."""
    invoked_by: InvokedBy = "main"
    """The main agent or a subagent."""
    recipe_name: str | None = None
    """The recipe that the conversation runs, if any."""
    agent: str | None = None
    """The agent's name, such as `backend-dev`."""
    repository: str | None = None
    """The repository, such as `org/repo`."""
    branch: str | None = None
    """The branch that is checked out."""
    mode: str | None = None
    """The agent's mode, such as `plan` or `auto`."""
    timestamp_ms: int = 0
    """The time, in milliseconds since 1970."""
    budget: TokenBudget | None = None
    """The token budget, if the agent gives it."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: str
    """`user`, `assistant`, or what else the agent uses."""
    content: str
    """The text."""


ToolKind = Literal["shell", "read", "write", "edit", "search", "fetch", "mcp", "agent", "other"]
"""The kind of a tool, independent of the agent's name for it."""


@dataclass(frozen=True)
class ResolvedPath:
    """A path that a file tool names, resolved by the host."""

    path: str
    """Absolute, without `.` and `..`, with symlinks followed as far as they exist."""
    inside: bool
    """True if it is in the working directory."""


@dataclass(frozen=True)
class ToolCall:
    """`before_tool_call`: a tool is about to run. The hook may block, ask, modify the input, inject and allow.

    A tool call. `kind`, `command` and `paths` are facts that hookbox derives, so that a guard need not handle
    every agent's spelling. `name` and `input` come from the agent, unchanged.
    """

    id: str | None = None
    """The call's id, if the agent gave one."""
    name: str = ""
    """The tool's name as the agent spells it; empty if it was not given."""
    kind: ToolKind = "other"
    """The kind of the tool."""
    command: str | None = None
    """The shell line of a shell tool."""
    paths: Sequence[ResolvedPath] = ()
    """The paths of a file tool; empty for a shell line."""
    input: Document = field(default_factory=Document)
    """The input. Input that is not JSON is a JSON string."""


@dataclass(frozen=True)
class ToolResult:
    """`after_tool_call`: a tool has run, or was blocked. The hook may block, modify the output and inject.

    A tool call that is over. That of a blocked call has `success` false, and the reason as `error`.
    """

    call: ToolCall
    """The call, with the input that the tool really got."""
    output: Document = field(default_factory=Document)
    """The output of the tool."""
    success: bool | None = None
    """True if the tool succeeded."""
    error: str | None = None
    """The error."""
    duration_ms: int | None = None
    """The duration, in milliseconds."""
    exit_status: int | None = None
    """The exit status of a command."""
    cost_tokens: int | None = None
    """The cost, in tokens."""


@dataclass(frozen=True)
class SessionStart:
    """`session_start`: a session begins. The hook may inject."""

    source: str | None = None
    """The reason: `startup`, `resume`, `rotate` …"""


@dataclass(frozen=True)
class SessionEnd:
    """`session_end`: a session ends."""

    reason: str | None = None
    """The reason: `exit`, `rotate` …"""


@dataclass(frozen=True)
class UserMessage:
    """`user_message_send`: the user sends a message. The hook may block, modify and inject.

    A message of the user.
    """

    message: str
    """The text."""


ErrorSource = (
    ToolCall
    | FailedTurn
    | FailedHook
)
"""The source of an error."""


@dataclass(frozen=True)
class ErrorEvent:
    """`on_error`: a tool, a turn or a hook failed. The hook may modify the error's text and inject.

    A failure.
    """

    source: ErrorSource
    """The source."""
    message: str
    """The message."""
    kind: str | None = None
    """The class of the error, if the agent has one."""
    attempt: int | None = None
    """The number of the attempt, from 1."""


@dataclass(frozen=True)
class AfterTurn:
    """`after_turn`: the model has answered, with or without tool calls. The hook may inject, mutate and call back."""

    turn_number: int | None = None
    """The turn, from 1."""
    tools_used: bool | None = None
    """True if the answer used tools."""
    usage: Usage | None = None
    """Tokens."""
    auto_compact_enabled: bool | None = None
    """True if the agent compacts by itself."""
    auto_compact_threshold: float | None = None
    """The share of the window at which it compacts, from 0 to 1."""
    messages: Document = field(default_factory=lambda: Document([]))
    """The conversation, an array of messages; empty without the right `conversation`."""


@dataclass(frozen=True)
class TurnEnd:
    """`turn_end`: a turn of the user is over."""

    response: str | None = None
    """The last response of the agent."""
    turn_number: int | None = None
    """The turn, from 1."""


@dataclass(frozen=True)
class AgentStop:
    """`agent_stop`: the agent would stop, because it has no more tool calls to make. The hook may follow up, mutate and call back."""

    messages: Document = field(default_factory=lambda: Document([]))
    """The conversation, an array of messages; empty without the right `conversation`."""
    usage: Usage | None = None
    """Tokens."""
    invoked_recipe: str | None = None
    """The recipe that started the session."""
    auto_compact_enabled: bool | None = None
    """True if the agent compacts by itself."""
    auto_compact_threshold: float | None = None
    """The share of the window at which it compacts, from 0 to 1."""
    follow_ups: int = 0
    """The number of times in a row that hooks have already made this agent go on."""


@dataclass(frozen=True)
class PreCompact:
    """`pre_compact`: the conversation is about to be compacted. The hook may block and inject."""

    trigger: str | None = None
    """The reason: `auto`, `manual` …"""
    usage: Usage | None = None
    """Tokens."""
    messages: Document = field(default_factory=lambda: Document([]))
    """The conversation, an array of messages; empty without the right `conversation`."""


@dataclass(frozen=True)
class PostCompact:
    """`post_compact`: the conversation has been compacted. The hook may inject."""

    trigger: str | None = None
    """The reason: `auto`, `manual` …"""
    summary: str | None = None
    """The summary that replaces it; absent without the right `conversation`."""
    usage: Usage | None = None
    """Tokens."""


@dataclass(frozen=True)
class BudgetExceeded:
    """`on_budget_exceeded`: the token budget has passed a threshold. The hook may block, inject and call back.

    A threshold of the token budget.
    """

    usage: Usage | None = None
    """Tokens."""
    threshold: float | None = None
    """The threshold that was passed, as a share of the window from 0 to 1."""


@dataclass(frozen=True)
class OtherEvent:
    """`other`: an event of some agents, such as `notification`.

    An event that this version of the interface has no case for.
    """

    name: str
    """The name, in snake case."""
    data: Document = field(default_factory=Document)
    """The data, an object."""


Event = (
    SessionStart
    | SessionEnd
    | UserMessage
    | ToolCall
    | ToolResult
    | ErrorEvent
    | AfterTurn
    | TurnEnd
    | AgentStop
    | PreCompact
    | PostCompact
    | BudgetExceeded
    | OtherEvent
)
"""Every event."""
