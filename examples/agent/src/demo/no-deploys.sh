#!/usr/bin/env bash
# Deploys only pretend to: the command is replaced.
case "$1" in
hook) echo before_tool_call ;;
run)
    payload=$(cat)
    case "$payload" in
    *'"make deploy"'*) echo '{"input":{"command":"echo would deploy"}}' ;;
    esac
    ;;
*) exit 1 ;;
esac
