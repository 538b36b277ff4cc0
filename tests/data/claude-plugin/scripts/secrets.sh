#!/bin/bash
# Blocks files with secrets, by their name; uses what Claude Code says of the project.
input=$(cat)
case "$input" in
*"\"file_path\":\"$CLAUDE_PROJECT_DIR/"*.env\"*)
  echo '{"decision":"block","reason":"no secrets in files"}'
  ;;
esac
