#!/bin/bash
# Logs how full the context window is after each turn. Needs no jq and no bc.
# Advisory: it changes nothing.

# The value of a field of numbers, true or false; nothing where it is missing.
field() {
    [[ $payload =~ \"$1\"[[:space:]]*:[[:space:]]*(true|false|[0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}

case "${1-}" in
    hook)
        echo "after_turn"
        ;;
    run)
        payload=$(cat)
        turn=$(field turn_number)
        current=$(field current_context_window)
        max=$(field max_context_window)
        tools_used=$(field tools_used)

        spent="?"
        if [ -n "$current" ] && [ -n "$max" ] && [ "$((10#$max))" -gt 0 ]; then
            hundredths=$(((10#$current * 10000 + 10#$max / 2) / 10#$max))
            spent=$(printf '%d.%02d' "$((hundredths / 100))" "$((hundredths % 100))")
        fi
        echo "Turn ${turn:-?}: context ${spent}% (tools_used: ${tools_used:-?})" >&2
        ;;
    *)
        exit 1
        ;;
esac
