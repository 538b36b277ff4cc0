#!/bin/bash
# Compacts the conversation at a threshold of the user's own: $COMPACT_THRESHOLD percent of the window, 70 unless set.
# Needs no jq and no bc. Advisory: the agent runs the recipe, or not.

# The value of a field of numbers; nothing where it is missing.
field() {
    [[ $payload =~ \"$1\"[[:space:]]*:[[:space:]]*([0-9]+) ]] && echo "${BASH_REMATCH[1]}"
}

case "${1-}" in
    hook)
        echo "after_turn"
        ;;
    run)
        payload=$(cat)
        current=$(field current_context_window)
        max=$(field max_context_window)
        threshold=${COMPACT_THRESHOLD:-70}
        if ! [[ $threshold =~ ^[0-9]+$ ]]; then
            echo "COMPACT_THRESHOLD must be a whole number of percent, and is '$threshold'" >&2
            exit 1
        fi
        if [ -n "$current" ] && [ -n "$max" ] && [ "$((10#$max))" -gt 0 ] &&
            [ "$((10#$current * 100))" -gt "$((10#$max * 10#$threshold))" ]; then
            echo '{"result":"callback","callback":"compact"}'
        fi
        ;;
    *)
        exit 1
        ;;
esac
