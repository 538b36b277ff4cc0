#!/bin/bash
cat > /dev/null
echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"run the linter before you go on"}}'
