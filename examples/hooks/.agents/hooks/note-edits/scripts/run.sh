#!/bin/sh
[ -n "$EDIT_LOG" ] || exit 0
IFS= read -r event
path=$(printf '%s\n' "$event" |
    sed -nE 's/.*"tool_input": \{(.*[,{] *)?"path": "(([^"\\]|\\.)*)".*/\2/p')
printf '%s %s\n' "$AGENT_HOOK_SESSION_ID" "$path" >>"$EDIT_LOG"
