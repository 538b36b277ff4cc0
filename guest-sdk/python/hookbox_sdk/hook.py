"""The hook: its manifest, and one function per event."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, cast

from .answers import Answer
from .events import (
    AfterTurn,
    AgentStop,
    BudgetExceeded,
    Context,
    ErrorEvent,
    Event,
    OtherEvent,
    PostCompact,
    PreCompact,
    SessionEnd,
    SessionStart,
    ToolCall,
    ToolResult,
    TurnEnd,
    UserMessage,
)

Give = Literal["modify", "inject", "follow-up", "mutate", "callback", "allow"]
"""An answer that has to be declared."""

_E = TypeVar("_E", bound=Event)
_Handler = Callable[[Context, _E], Answer | None]
_Decorator = Callable[[_Handler[_E]], _Handler[_E]]


@dataclass(frozen=True)
class Subscription:
    """An event that a hook wants to see."""

    event: str
    tools: Sequence[str]
    priority: int | None
    observe: bool


class Hook:
    """A hook. Its decorators subscribe functions to events.

    Every call has a fresh instance: no variable lasts from one call to the next. An exception is a failure of the
    hook, never a decision: `on_failure` decides.
    """

    def __init__(
        self,
        name: str,
        version: str,
        description: str,
        *,
        on_failure: Literal["pass", "block"] | None = None,
        answers: Sequence[Give] = (),
        asks_for: Sequence[str] = (),
        settings: type[Any] | None = None,
    ) -> None:
        """`asks_for` are rights as `hookbox grants` writes them: `store`, `conversation`, `env:NAME`, `read:DIR`,
        `read-write:DIR`. `settings` is the dataclass that `settings()` reads: with it hookbox checks the user's
        settings before an event."""
        self.name = name
        self.version = version
        self.description = description
        self.on_failure: Literal["pass", "block"] | None = on_failure
        self.answers = answers
        self.asks_for = asks_for
        self.settings = settings
        self.subscriptions: list[Subscription] = []
        self.kinds: dict[str, type[Event]] = {}
        self._handlers: dict[str, Callable[[Context, Event], Answer | None]] = {}

    def _on(
        self, kind: type[_E], event: str, tools: Sequence[str], priority: int | None, observe: bool
    ) -> _Decorator[_E]:
        def subscribe(handler: _Handler[_E]) -> _Handler[_E]:
            if event in self._handlers:
                raise ValueError(f"{event} has a function already")
            self._handlers[event] = cast(Callable[[Context, Event], Answer | None], handler)
            self.kinds[event] = kind
            self.subscriptions.append(Subscription(event, tools, priority, observe))
            return handler

        return subscribe

    def run(self, event: str, context: Context, data: Event) -> Answer:
        """Answers one event, as the component does."""
        handler = self._handlers.get(event)
        return (handler(context, data) if handler else None) or Answer()

    def session_start(self, *, priority: int | None = None, observe: bool = False) -> _Decorator[SessionStart]:
        """A session begins. The hook may inject."""
        return self._on(SessionStart, "session_start", (), priority, observe)

    def session_end(self, *, priority: int | None = None, observe: bool = False) -> _Decorator[SessionEnd]:
        """A session ends."""
        return self._on(SessionEnd, "session_end", (), priority, observe)

    def user_message_send(self, *, priority: int | None = None, observe: bool = False) -> _Decorator[UserMessage]:
        """The user sends a message. The hook may block, modify and inject."""
        return self._on(UserMessage, "user_message_send", (), priority, observe)

    def before_tool_call(
        self, *, tools: Sequence[str] = (), priority: int | None = None, observe: bool = False
    ) -> _Decorator[ToolCall]:
        """A tool is about to run. The hook may block, ask, modify the input and inject."""
        return self._on(ToolCall, "before_tool_call", tools, priority, observe)

    def after_tool_call(
        self, *, tools: Sequence[str] = (), priority: int | None = None, observe: bool = False
    ) -> _Decorator[ToolResult]:
        """A tool has run, or was blocked. The hook may block, modify the output and inject."""
        return self._on(ToolResult, "after_tool_call", tools, priority, observe)

    def on_error(self, *, priority: int | None = None, observe: bool = False) -> _Decorator[ErrorEvent]:
        """Something failed. The hook may modify the error's text and inject."""
        return self._on(ErrorEvent, "on_error", (), priority, observe)

    def after_turn(self, *, priority: int | None = None, observe: bool = False) -> _Decorator[AfterTurn]:
        """The model has answered. The hook may inject, mutate and call back."""
        return self._on(AfterTurn, "after_turn", (), priority, observe)

    def turn_end(self, *, priority: int | None = None, observe: bool = False) -> _Decorator[TurnEnd]:
        """A turn of the user is over."""
        return self._on(TurnEnd, "turn_end", (), priority, observe)

    def agent_stop(self, *, priority: int | None = None, observe: bool = False) -> _Decorator[AgentStop]:
        """The agent would stop. The hook may follow up, mutate and call back."""
        return self._on(AgentStop, "agent_stop", (), priority, observe)

    def pre_compact(self, *, priority: int | None = None, observe: bool = False) -> _Decorator[PreCompact]:
        """The conversation is about to be compacted. The hook may block and inject."""
        return self._on(PreCompact, "pre_compact", (), priority, observe)

    def post_compact(self, *, priority: int | None = None, observe: bool = False) -> _Decorator[PostCompact]:
        """The conversation has been compacted. The hook may inject."""
        return self._on(PostCompact, "post_compact", (), priority, observe)

    def on_budget_exceeded(
        self, *, priority: int | None = None, observe: bool = False
    ) -> _Decorator[BudgetExceeded]:
        """The token budget has passed a threshold. The hook may block, inject and call back."""
        return self._on(BudgetExceeded, "on_budget_exceeded", (), priority, observe)

    def other(
        self, event: str, *, priority: int | None = None, observe: bool = False
    ) -> _Decorator[OtherEvent]:
        """An event of some agents, such as `notification`."""
        return self._on(OtherEvent, event, (), priority, observe)
