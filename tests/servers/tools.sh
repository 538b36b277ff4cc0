#!/bin/bash
# An MCP server over stdio: each tool behaves in a way of its own. It keeps its records in the directory $RECORDS.
echo $$ >> "$RECORDS/starts"
eval "${AT_START:-}"

message() { printf '%s\n' "$1"; }
answer() { message "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":$1}"; }
structured() { answer "{\"content\":[],\"structuredContent\":$1}"; }
text() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }

while IFS= read -r line; do
    [[ $line =~ \"id\":([0-9]+) ]] && id=${BASH_REMATCH[1]}
    case $line in
    *'"method":"notifications/'*) message "$line" >> "$RECORDS/notifications"; continue ;;
    *'"method":"initialize"'*)
        [ "${HANDSHAKE:-}" ] && { eval "$HANDSHAKE"; continue; }
        answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"tools","version":"1"}}'
        continue
        ;;
    *'"method":"tools/list"'*)
        answer '{"tools":[{"name":"load_memory","inputSchema":{"type":"object"}},{"name":"fail","inputSchema":{"type":"object"}}]}'
        continue
        ;;
    *'"method":"tools/call"'*) ;;
    *) message "$line" >> "$RECORDS/refused"; continue ;;
    esac
    message "$line" >> "$RECORDS/calls"
    [[ $line =~ \"params\":\{(\"_meta\":\{[^\}]*\},)?\"name\":\"([^\"]*)\" ]] && tool=${BASH_REMATCH[2]}
    case $tool in
    inject) structured '{"action":"injectContext","additionalContext":["remember the milk"]}' ;;
    block) text '{\"action\":\"block\",\"reason\":\"not today\"}' ;;
    modify) structured '{"action":"modify","modifiedInput":{"command":"ls -l"}}' ;;
    pass) answer '{"content":[]}' ;;
    where) structured "{\"action\":\"injectContext\",\"additionalContext\":[\"$HOOKBOX_DEPTH $KEY $PWD ${HOME:+home}\"]}" ;;
    who)
        [[ $line =~ \"sessionId\":\"([^\"]*)\" ]]
        structured "{\"action\":\"block\",\"reason\":\"${BASH_REMATCH[1]}\"}"
        ;;
    speak) echo "a note" >&2; answer '{"content":[]}' ;;
    never) ;;
    late) sleep 1; structured '{"action":"block","reason":"too late"}' ;;
    exit) echo "no disk" >&2; exit 3 ;;
    signal) kill -9 $$ ;;
    close) exec 1>&-; sleep 1000 ;;
    dies_later) answer '{"content":[]}'; exit 0 ;;
    child) sleep 1000 & echo $! > "$RECORDS/child"; answer '{"content":[]}' ;;
    line_flood) head -c 9000000 /dev/zero | tr '\0' x; sleep 1000 ;;
    flood) while :; do message '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'; done ;;
    garbage) message 'Listening!'; message '{"jsonrpc":'; exit 4 ;;
    chatty)
        message 'Warning: this is no message'
        for i in {1..500}; do
            message '{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}'
            message "{\"jsonrpc\":\"2.0\",\"id\":\"r$i\",\"method\":\"roots/list\"}"
            message "{\"jsonrpc\":\"2.0\",\"id\":\"s$i\",\"method\":\"sampling/createMessage\",\"params\":{\"messages\":[],\"maxTokens\":1}}"
        done
        answer '{"content":[]}'
        ;;
    wrong_type) answer '{"content":"x"}' ;;
    prose) text 'I have noted that.' ;;
    image) answer '{"content":[{"type":"image","data":"AA==","mimeType":"image/png"}]}' ;;
    fail) answer '{"isError":true,"content":[{"type":"text","text":"out of paper"}]}' ;;
    load_memory | error) message "{\"jsonrpc\":\"2.0\",\"id\":$id,\"error\":{\"code\":-32602,\"message\":\"what?\"}}" ;;
    *) answer "{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"Unknown tool: $tool\"}]}" ;;
    esac
done
