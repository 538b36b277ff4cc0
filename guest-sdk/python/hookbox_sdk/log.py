"""Notes for the report and the host's log."""

from .host import current


def debug(message: str) -> None:
    """Notes something for the hook's author."""
    current().log("debug", message)


def info(message: str) -> None:
    """Notes an ordinary event."""
    current().log("info", message)


def warn(message: str) -> None:
    """Notes an unwanted event."""
    current().log("warn", message)


def error(message: str) -> None:
    """Notes a failure."""
    current().log("error", message)
