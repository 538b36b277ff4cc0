"""Write an agent hook in Python: a component that hookbox runs in a sandbox.

    from hookbox_sdk import Answer, Context, Hook, ToolCall, block

    hook = Hook("no-rm", "0.1.0", "Blocks rm.", on_failure="block")

    @hook.before_tool_call(tools=["kind:shell"])
    def guard(cx: Context, call: ToolCall) -> Answer | None:
        return block("Do not remove files.") if (call.command or "").startswith("rm ") else None
"""

from . import facts, log, shell, state
from .answers import Answer, allow, ask, block, callback, follow_up, inject, modify, mutate, warn
from .events import (
    AfterTurn,
    AgentStop,
    BudgetExceeded,
    Context,
    ErrorEvent,
    Event,
    Message,
    OtherEvent,
    PostCompact,
    PreCompact,
    ResolvedPath,
    SessionEnd,
    SessionStart,
    TokenBudget,
    ToolCall,
    ToolKind,
    ToolResult,
    TurnEnd,
    UserMessage,
)
from .hook import Give, Hook, Subscription
from .settings import SettingsError, settings
from .state import StateError
from .values import JSON, Document, FailedHook, FailedTurn, Usage

__all__ = [
    "JSON",
    "AfterTurn",
    "AgentStop",
    "Answer",
    "BudgetExceeded",
    "Context",
    "Document",
    "ErrorEvent",
    "Event",
    "FailedHook",
    "FailedTurn",
    "Give",
    "Hook",
    "Message",
    "OtherEvent",
    "PostCompact",
    "PreCompact",
    "ResolvedPath",
    "SessionEnd",
    "SessionStart",
    "SettingsError",
    "StateError",
    "Subscription",
    "TokenBudget",
    "ToolCall",
    "ToolKind",
    "ToolResult",
    "TurnEnd",
    "Usage",
    "UserMessage",
    "allow",
    "ask",
    "block",
    "callback",
    "facts",
    "follow_up",
    "inject",
    "log",
    "modify",
    "mutate",
    "settings",
    "shell",
    "state",
    "warn",
]
