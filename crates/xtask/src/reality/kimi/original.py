"""Plays events through the hooks of Kimi CLI, by its own engine.

original.py CONFIG.toml EVENTS.jsonl
Each line of EVENTS has `kimi`: the event, what its matcher sees, and the fields of its input. Prints one JSON object for
each: how many hooks ran, how many of them failed, and the reason of the first that blocked.
"""

import asyncio
import json
import os
import sys
import tomllib

from kimi_cli.hooks import HookDef, HookEngine


async def main(configuration, events):
    with open(configuration, "rb") as file:
        hooks = [HookDef(**hook) for hook in tomllib.load(file)["hooks"]]
    engine = HookEngine(hooks, cwd=os.getcwd())
    for line in open(events):
        kimi = json.loads(line)["kimi"]
        given = {"hook_event_name": kimi["event"], "session_id": "s1", "cwd": os.getcwd(), **kimi["input"]}
        results = await engine.trigger(kimi["event"], matcher_value=kimi["matcher_value"], input_data=given)
        blocks = [result.reason for result in results if result.action == "block"]
        failed = [result for result in results if result.timed_out or result.exit_code not in (0, 2)]
        answer = {"ran": len(results), "failed": len(failed), "blocked": bool(blocks)}
        print(json.dumps({**answer, "reason": blocks[0] if blocks else None}))


asyncio.run(main(*sys.argv[1:]))
