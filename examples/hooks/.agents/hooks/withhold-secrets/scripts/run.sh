#!/bin/sh
# Builtins only: no process but this one is started.
IFS= read -r event
output=${event#*\"tool_output\": }
if [ "$output" = "$event" ]; then
    echo "found no output in the event" >&2
    exit 1
fi
case $output in
*"-----BEGIN "*"PRIVATE KEY-----"*)
    echo "the output holds a private key and stays out of the context" >&2
    exit 2
    ;;
*tok_live_[0-9A-Za-z]*)
    echo "the output holds a live token and stays out of the context" >&2
    exit 2
    ;;
esac
exit 0
