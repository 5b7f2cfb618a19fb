#!/bin/sh
IFS= read -r event
case $event in
*'"source": "subagent"'*)
    printf '{"additional_context": "%s"}\n' \
        "The hooks of your parent hold for you. Report findings as file:line."
    ;;
esac
