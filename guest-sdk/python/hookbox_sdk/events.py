"""The data of every event. A value that the agent did not give is `None`, never an invented default."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, cast

JSON: TypeAlias = "None | bool | int | float | str | Sequence[JSON] | Mapping[str, JSON]"
"""A JSON value."""

InvokedBy = Literal["main", "subagent"]
"""The cause of an event: the agent that the user talks to, or an agent that another agent started."""

ToolKind = Literal["shell", "read", "write", "edit", "search", "fetch", "mcp", "agent", "other"]
"""The kind of a tool, independent of the agent's name for it."""


@dataclass(frozen=True)
class Usage:
    """The tokens that a conversation has used, and the room that is left."""

    input_tokens: int = 0
    """Tokens sent to the model so far."""
    output_tokens: int = 0
    """Tokens that the model produced so far."""
    current_context_window: int = 0
    """Tokens that the context window holds now."""
    max_context_window: int = 0
    """Tokens that it can hold."""

    def ratio(self) -> float | None:
        """Returns the used part of the context window; `None` if its size is not known."""
        return self.current_context_window / self.max_context_window if self.max_context_window else None


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
    """The agent's working directory, absolute."""
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


class Source(Protocol):
    """A JSON value as text, which may stay in the host."""

    def get(self, pointer: str, /) -> str | None: ...
    def text(self, /) -> str: ...
    def size(self, /) -> int: ...


class Document:
    """A JSON value: a tool's input or output, the messages of a conversation.

    In a component the value stays in the host. A hook that reads one field pays for that field only.
    """

    def __init__(self, source: "Source | JSON" = None) -> None:
        if source is None or isinstance(source, (bool, int, float, str, Sequence, Mapping)):
            source = _Local(source)
        self._source = source

    def get(self, pointer: str) -> JSON:
        """Returns the value at a JSON Pointer (RFC 6901); `None` if there is no value, or null."""
        text = self._source.get(pointer)
        return None if text is None else cast(JSON, json.loads(text))

    def get_str(self, pointer: str) -> str | None:
        """Returns the string at a JSON Pointer; `None` if there is no value, or another one."""
        found = self.get(pointer)
        return found if isinstance(found, str) else None

    def value(self) -> JSON:
        """Returns the whole value."""
        return cast(JSON, json.loads(self.text()))

    def text(self) -> str:
        """Returns the whole value as JSON text."""
        return self._source.text()

    def size(self) -> int:
        """Returns the length of `text`, in bytes, without copying the value."""
        return self._source.size()


class _Local:
    """A value in this process, for tests."""

    def __init__(self, value: JSON) -> None:
        self._value = value

    def get(self, pointer: str) -> str | None:
        value = self._value
        if pointer and not pointer.startswith("/"):
            return None
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, Mapping) and key in value:
                value = value[key]
            elif isinstance(value, Sequence) and not isinstance(value, str) and key.isdecimal():
                if int(key) >= len(value):
                    return None
                value = value[int(key)]
            else:
                return None
        return json.dumps(value)

    def text(self) -> str:
        return json.dumps(self._value)

    def size(self) -> int:
        return len(self.text().encode())


@dataclass(frozen=True)
class ResolvedPath:
    """A path that a file tool names, resolved."""

    path: str
    """Absolute, without `.` and `..`, with symlinks followed as far as they exist."""
    inside: bool
    """True if it is in the working directory."""


@dataclass(frozen=True)
class ToolCall:
    """`before_tool_call`: a tool is about to run.

    `kind`, `command` and `paths` are facts that hookbox derives, so that a guard need not handle every agent's
    spelling. `name` and `input` come from the agent, unchanged.
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
    """`after_tool_call`: a tool has run, or was blocked (`success` is false, with the reason as `error`)."""

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
    """`session_start`: a session begins."""

    source: str | None = None
    """The reason: `startup`, `resume`, `rotate` …"""


@dataclass(frozen=True)
class SessionEnd:
    """`session_end`: a session ends."""

    reason: str | None = None
    """The reason: `exit`, `rotate` …"""


@dataclass(frozen=True)
class UserMessage:
    """`user_message_send`: the user sends a message."""

    message: str
    """The text."""


@dataclass(frozen=True)
class FailedTurn:
    """A turn that failed."""

    number: int | None = None
    """Its number, if it is known."""


@dataclass(frozen=True)
class FailedHook:
    """Another hook that failed."""

    name: str
    """Its name."""


@dataclass(frozen=True)
class ErrorEvent:
    """`on_error`: something failed."""

    source: ToolCall | FailedTurn | FailedHook
    """The source."""
    message: str
    """The message."""
    kind: str | None = None
    """The class of the error, if the agent has one."""
    attempt: int | None = None
    """The number of the attempt, from 1."""


@dataclass(frozen=True)
class AfterTurn:
    """`after_turn`: the model has answered, with or without tool calls."""

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
    """`agent_stop`: the agent would stop, because it has no more tool calls to make."""

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
    """`pre_compact`: the conversation is about to be compacted."""

    trigger: str | None = None
    """The reason: `auto`, `manual` …"""
    usage: Usage | None = None
    """Tokens."""
    messages: Document = field(default_factory=lambda: Document([]))
    """The conversation, an array of messages; empty without the right `conversation`."""


@dataclass(frozen=True)
class PostCompact:
    """`post_compact`: the conversation has been compacted."""

    trigger: str | None = None
    """The reason: `auto`, `manual` …"""
    summary: str | None = None
    """The summary that replaces it; absent without the right `conversation`."""
    usage: Usage | None = None
    """Tokens."""


@dataclass(frozen=True)
class BudgetExceeded:
    """`on_budget_exceeded`: the token budget has passed a threshold."""

    usage: Usage | None = None
    """Tokens."""
    threshold: float | None = None
    """The threshold that was passed, as a share of the window from 0 to 1."""


@dataclass(frozen=True)
class OtherEvent:
    """An event that this version has no class for."""

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
