#!/bin/sh
# One event comes as one line of JSON. Exit 0 has no objection, exit 2 refuses, anything else is a failure.
IFS= read -r event
input=${event#*\"tool_input\": }
if [ "$input" = "$event" ]; then
    echo "found no tool input in the event" >&2
    exit 1
fi

refuse_if() {
    if printf '%s\n' "$input" | grep -Eq "$1"; then
        echo "$2" >&2
        exit 2
    fi
}

# Where a command may begin and end within the JSON text; a line break is written \n there.
begin='(["`;&|([:space:]]|\\n|\\t)'
end='(["`;&|)[:space:]]|\\)'
options='(-[[:alnum:]-]+[[:space:]]+)*'
refuse_if "${begin}rm[[:space:]]+$options(/|~/?)$end" \
    "rm would delete everything below ~ or /; name the one directory that is meant"
refuse_if "${begin}(mkfs|dd[[:space:]].*of=/dev/)" \
    "this would overwrite a disk"
refuse_if "(curl|wget)[^|]*\|[[:space:]]*(sudo[[:space:]]+)?(ba|da|z)?sh$end" \
    "a download is not piped into a shell; save it, read it, then run it"
exit 0
