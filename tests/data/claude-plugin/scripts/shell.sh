#!/bin/bash
# Decides with JSON: denies, or changes the command.
input=$(cat)
case "$input" in
*'"hook_event_name":"PreToolUse"'*'"tool_name":"Bash"'*) ;;
*) echo "not what Claude Code sends: $input" >&2; exit 1 ;;
esac
case "$input" in
*'"command":"curl '*)
  echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no network"}}'
  ;;
*'"command":"git push"'*)
  echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"command":"git push --dry-run"}}}'
  ;;
esac
