#!/bin/bash
cat > /dev/null
echo "project $(basename "$CLAUDE_PROJECT_DIR") in $(basename "$PWD"), plugin $(basename "$CLAUDE_PLUGIN_ROOT")"
