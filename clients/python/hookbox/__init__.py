"""The client of hookbox: hooks that observe and control an agent, in one process for all its sessions.

A verdict has the value to go on with inside its decision, so a block cannot be ignored by accident. Without an answer
of hookbox the decision is a block.
"""

from ._client import AsyncHookbox, AsyncSession, Hookbox, Session
from ._verdicts import (
    Ask,
    Block,
    Callback,
    ErrorVerdict,
    Failure,
    GateVerdict,
    MessageVerdict,
    Noted,
    OutputVerdict,
    Proceed,
    Ruling,
    Run,
    ToolCall,
    ToolRun,
    ToolVerdict,
    Verdict,
)

__all__ = [
    "Ask",
    "AsyncHookbox",
    "AsyncSession",
    "Block",
    "Callback",
    "ErrorVerdict",
    "Failure",
    "GateVerdict",
    "Hookbox",
    "MessageVerdict",
    "Noted",
    "OutputVerdict",
    "Proceed",
    "Ruling",
    "Run",
    "Session",
    "ToolCall",
    "ToolRun",
    "ToolVerdict",
    "Verdict",
]
