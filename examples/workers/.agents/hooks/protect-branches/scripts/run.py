#!/usr/bin/env python3
"""Refuses pushes to protected branches, and pushes by force anywhere."""

import shlex

from lineside_hook import hook, serve

PROTECTED = {"main", "release"}


@hook
def check(event):
    words = shlex.split(event["tool_input"]["command"])
    if "--force" in words or "-f" in words:
        return {"decision": "deny", "reason": "a push by force loses the work of others; use --force-with-lease"}
    for branch in PROTECTED.intersection(words):
        return {"decision": "deny", "reason": f"{branch} is protected; push a branch of your own and open a request"}


serve()
