#!/bin/bash
input=$(cat)
case "$input" in
*'"stop_hook_active":false'*) echo '{"decision":"block","reason":"run the tests first"}' ;;
esac
