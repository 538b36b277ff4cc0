#!/usr/bin/env bash
# What a repository brings does not run until the user trusts it. This one would say so if it did.
case "$1" in
hook) echo before_tool_call ;;
run) echo "I ran although nobody trusts me" >../i-ran ;;
*) exit 1 ;;
esac
