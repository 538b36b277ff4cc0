#!/usr/bin/env bash
# A repository's hooks do not run until the user trusts them. This one would print a line if it did.
case "$1" in
hook) echo before_tool_call ;;
run) echo "I ran although nobody trusts me" >../i-ran ;;
*) exit 1 ;;
esac
