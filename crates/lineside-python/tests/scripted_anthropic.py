"""A model of Anthropic's API on loopback that says what stands in scripts: a word `PLAY:name` of a user's text names one."""

import itertools
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


# No two messages and no two calls have one id.
NUMBERS = itertools.count(1)


class Scripted:
    """Each step of a script is a text, or a tool and its input; the number of turns since its name says which is next."""

    def __init__(self, scripts: "dict[str, list[Any]]") -> None:
        self.scripts, self.asked = scripts, []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                """It says nothing."""

            def do_HEAD(self) -> None:
                self.send_response(200)
                self.end_headers()

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if "count_tokens" in self.path:
                    return self.reply("application/json", json.dumps({"input_tokens": 1}))
                step = outer.step(body)
                if not body.get("stream"):
                    return self.reply("application/json", json.dumps(message(step)))
                return self.reply("text/event-stream", "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events(step)))

            def reply(self, kind: str, text: str) -> None:
                data = text.encode()
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def step(self, body: Any) -> Any:
        script, turn = None, 0
        for one in body["messages"]:
            found = re.findall(r"PLAY:(\w+)", json.dumps(one["content"])) if one["role"] == "user" else []
            if found:
                script, turn = found[-1], 0
            elif one["role"] == "assistant":
                turn += 1
        steps = self.scripts.get(script or "", ["ok"])
        if script is not None and body.get("tools"):
            self.asked.append((script, turn, json.dumps(body["messages"])))
        return steps[min(turn, len(steps) - 1)]

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def block(step: Any) -> Any:
    if isinstance(step, str):
        return {"type": "text", "text": step}
    tool, input = step
    return {"type": "tool_use", "id": f"toolu_{next(NUMBERS)}", "name": tool, "input": input}


def message(step: Any) -> Any:
    reason = "end_turn" if isinstance(step, str) else "tool_use"
    head = {"id": f"msg_{next(NUMBERS)}", "type": "message", "role": "assistant", "model": "claude", "stop_sequence": None}
    return {**head, "content": [block(step)], "stop_reason": reason, "usage": {"input_tokens": 1, "output_tokens": 1}}


def events(step: Any) -> Any:
    whole = message(step)
    content = whole["content"][0]
    yield {"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}
    if content["type"] == "text":
        begun, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": content["text"]}
    else:
        begun, delta = {**content, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(content["input"])}
    yield {"type": "content_block_start", "index": 0, "content_block": begun}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}
