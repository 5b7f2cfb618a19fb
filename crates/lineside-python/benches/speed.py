"""The speed of the client beside a bare echo over a socket: `python speed.py`, with the command in LINESIDE_COMMAND.

Each party is a process. An echo is a line of JSON to a process of Python and back, over a Unix socket, with `asyncio` on the
side that asks, as the client has it. The figures are medians in microseconds.
"""

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCES = str(Path(__file__).parent.parent / "src")
sys.path.insert(0, SOURCES)

from lineside import BeforeTool, Client, intercept  # noqa: E402
from lineside._wire import Stream, connect  # noqa: E402

COUNT = int(os.environ.get("COUNT", "3000"))

ECHO = """
import socket, sys
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(sys.argv[1]); listener.listen(); print("ready", flush=True)
    peer, _ = listener.accept()
    with peer, peer.makefile("rb") as lines:
        for line in lines:
            peer.sendall(line)
"""

GATE = """
import asyncio, sys
from lineside import BeforeTool, Client, intercept
@intercept(BeforeTool)
async def gate(event):
    return None
async def main():
    async with Client(sys.argv[1]) as client:
        await client.session("gated", hooks=[gate])
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.read)
asyncio.run(main())
"""

HOOKS = """
hooks:
  - name: warm
    on: before_tool
    match: {tool: Warm}
    worker: {program: [%s, %s]}
"""

WORKER = """
from lineside.worker import hook, serve
@hook
def check(event):
    return None
serve()
"""


async def median(what: str, ask, count: int = COUNT) -> float:
    for _ in range(count // 10):
        await ask()
    times = []
    for _ in range(count):
        began = time.perf_counter_ns()
        await ask()
        times.append((time.perf_counter_ns() - began) / 1000)
    value = statistics.median(times)
    print(f"{what:58} {value:8.1f} µs")
    return value


def started(text: str, *arguments: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    process = subprocess.Popen(
        [sys.executable, "-c", text, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    return process


async def echoes(folder: str, line: bytes) -> "tuple[float, float]":
    path = f"{folder}/echo"
    with started(ECHO, path) as echo:
        reader, writer = await asyncio.open_unix_connection(path)

        async def ask() -> None:
            writer.write(line)
            await reader.readline()

        streams = await median("an echo, by the streams of asyncio", ask)
        writer.close()
        echo.wait()
    os.remove(path)
    with started(ECHO, path) as echo:
        stream = Stream(connect(path), asyncio.get_running_loop())

        async def ask_bare() -> None:
            stream.send(line)
            await stream.until(stream.line)

        bare = await median("an echo, by a callback of the loop", ask_bare)
        stream.close(EOFError())
        echo.wait()
    return streams, bare


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        home = Path(folder)
        worker = home / "worker.py"
        worker.write_text(f"import sys; sys.path.insert(0, {SOURCES!r})\n{WORKER}")
        (home / ".config/lineside").mkdir(parents=True)
        (home / ".config/lineside/hooks.yaml").write_text(HOOKS % (sys.executable, worker))
        payload = BeforeTool("Shell", {"command": "ls -la src"})
        line = json.dumps({"point": "before_tool", "session": "bare", "payload": payload}).encode() + b"\n"
        streams, bare = await echoes(folder, line)
        async with await Client.private("--home", folder) as client:
            async with client.session("bare") as session:
                plain = await median("an event, nothing registered", lambda: session.publish(payload))
                warm = BeforeTool("Warm", {"command": "ls -la src"})
                asked = await median("the same with a gate in a warm worker of Python", lambda: session.publish(warm))
            with started(GATE, client.socket) as other:
                async with client.session("below", parent="gated") as session:
                    gate = await median("the same with a gate of another process, attached", lambda: session.publish(payload))
                other.stdin.close()
                other.wait()
    print(f"\nan event / an echo by streams: {plain / streams:.2f} (at most 1.5), by a callback: {plain / bare:.2f}")
    print(f"an attached gate / a warm worker: {gate / asked:.2f} (at most 2)")


def imports() -> None:
    def seconds(code: str) -> float:
        times = []
        for _ in range(15):
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": SOURCES}, check=True)
            times.append(time.perf_counter() - began)
        return statistics.median(times)

    empty, whole, loop = seconds("pass"), seconds("import lineside"), seconds("import asyncio")
    print(f"import lineside: {(whole - empty) * 1000:.0f} ms above an empty interpreter (at most 40); import asyncio: {(loop - empty) * 1000:.0f} ms")


if __name__ == "__main__":
    imports()
    asyncio.run(main())
