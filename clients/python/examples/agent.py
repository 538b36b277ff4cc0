"""A small agent. The model here is a list of answers; put yours in its place."""

import subprocess
import sys

from hookbox import Ask, Block, Hookbox, Proceed, ToolCall, ToolRun

MODEL = [
    ToolCall("bash", {"command": "sudo rm -r /var/cache"}, "call-1"),
    ToolCall("bash", {"command": "echo hello"}, "call-2"),
    "The cache is still there. Hello!",
]


def bash(tool_input: dict[str, str]) -> str:
    return subprocess.run(["sh", "-c", tool_input["command"]], capture_output=True, text=True, check=True).stdout


def user_agrees(ask: Ask) -> bool:
    print(f"{ask.by} asks: {ask.reason}\n{ask.input}", file=sys.stderr)
    return sys.stdin.isatty() and input("Run it? [y/N] ") == "y"


def tell_user(run: ToolRun) -> None:
    """Shows notes and the code of a block, which are never for the model."""
    for warning in run.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if run.ruling and run.ruling.code:
        print(f"to let this call through once: hookbox allow {run.ruling.code}", file=sys.stderr)


def main(message: str, *args: str) -> None:
    conversation: list[str] = []
    with Hookbox(
        agent="example", args=args, on_problem=lambda text: print(f"note: {text}", file=sys.stderr)
    ) as hookbox:
        session = hookbox.session("conversation-1")
        conversation += session.session_start("startup").context
        match session.user_message_send(message).decision:
            case Block(reason=reason):
                return print(f"Not sent: {reason}")
            case Proceed(value=value):
                conversation.append(f"user: {value}")
        for turn, answer in enumerate(MODEL, 1):
            if isinstance(answer, ToolCall):
                run = session.tool(answer, bash, ask=user_agrees)  # a block, a changed input, a changed output
                tell_user(run)  # its warnings, and the code with which the user can allow the call
                conversation += [f"tool: {run.text}", *run.context]
            else:
                conversation.append(f"assistant: {answer}")
            session.after_turn(turn, tools_used=isinstance(answer, ToolCall))
        conversation += [f"user: {it}" for it in session.agent_stop().follow_ups]  # a real agent goes on with them
        session.session_end("exit")
    print("\n".join(conversation))


if __name__ == "__main__":
    main(*sys.argv[1:])
