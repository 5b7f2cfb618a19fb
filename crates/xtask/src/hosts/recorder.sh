#!/bin/sh
# Stands for `lineside` while a session is recorded: keeps what each call of the hook command is given, then makes it.
if [ "$1" != hook ]; then exec $REAL "$@"; fi
call=$(mktemp $CALLS/$(date +%s%N).XXXXXX) || exit 2
cat > "$call.stdin"
env > "$call.env"
printf '%s\n' "$@" > "$call.arguments"
exec $REAL "$@" < "$call.stdin"
