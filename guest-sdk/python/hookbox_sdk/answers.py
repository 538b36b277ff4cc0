"""The answers of a hook. Only the answers that its `Hook` declares have an effect, beside pass, block, ask and warn."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from .events import Message
from .values import JSON


@dataclass(frozen=True)
class Pass:
    """Nothing is to happen."""


@dataclass(frozen=True)
class Block:
    """The action must not happen."""

    reason: str


@dataclass(frozen=True)
class Ask:
    """The user decides."""

    reason: str


@dataclass(frozen=True)
class Modify:
    """The subject of the event is replaced."""

    value: JSON


@dataclass(frozen=True)
class FollowUp:
    """The agent goes on, with these messages of the user."""

    messages: tuple[str, ...]


@dataclass(frozen=True)
class Mutate:
    """The conversation is replaced."""

    messages: tuple[Message, ...]


@dataclass(frozen=True)
class Callback:
    """The agent runs a recipe."""

    name: str
    args: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Allow:
    """The call needs no question of the agent's own."""

    reason: str


Action: TypeAlias = Pass | Block | Ask | Modify | FollowUp | Mutate | Callback | Allow


@dataclass(frozen=True)
class Answer:
    """The answer to one event. Without arguments it passes, like `None`."""

    action: Action = Pass()
    context: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    metadata: tuple[tuple[str, JSON], ...] = ()

    def inject(self, text: str) -> "Answer":
        """Adds text for the model's next step."""
        return replace(self, context=(*self.context, text))

    def warn(self, note: str) -> "Answer":
        """Adds a note for the user."""
        return replace(self, warnings=(*self.warnings, note))

    def report(self, key: str, value: JSON) -> "Answer":
        """Adds a value for reports; without effect."""
        return replace(self, metadata=(*self.metadata, (key, value)))


def block(reason: str) -> Answer:
    """Stops the action, for this reason."""
    return Answer(Block(reason))


def ask(reason: str) -> Answer:
    """Lets the user decide, for this reason. An agent that cannot ask does not do it."""
    return Answer(Ask(reason))


def allow(reason: str) -> Answer:
    """Lets the call run without a question of the agent's own, for this reason, which reports show. It has an effect only
    if no other hook blocked, asked or failed."""
    return Answer(Allow(reason))


def modify(value: JSON) -> Answer:
    """Replaces the subject of the event: a tool's input before the call, its output after it, the user's message
    (a string), the text of an error (a string)."""
    return Answer(Modify(value))


def follow_up(messages: Iterable[str]) -> Answer:
    """Makes the agent go on, with these as messages of the user. Without messages there is no action."""
    texts = tuple(messages)
    return Answer(FollowUp(texts)) if texts else Answer()


def mutate(messages: Iterable[Message]) -> Answer:
    """Replaces the conversation."""
    return Answer(Mutate(tuple(messages)))


def callback(name: str, args: Mapping[str, str] | None = None) -> Answer:
    """Runs a recipe, such as `compact`."""
    return Answer(Callback(name, tuple((args or {}).items())))


def inject(text: str) -> Answer:
    """Passes, with text for the model's next step."""
    return Answer().inject(text)


def warn(note: str) -> Answer:
    """Passes, with a note for the user."""
    return Answer().warn(note)
