"""The speed of the client beside a bare echo over a socket: `python speed.py`, with the command in LINESIDE_COMMAND.

Each party is a process. An echo is an event as a line of JSON to a process of Python and back, over a Unix socket: written,
sent, received and read, by the streams of `asyncio`, as a program would do it. It takes turns with an event without hooks, so
that both have the same machine. The figures are medians in microseconds.
"""

import asyncio
import contextlib
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

from lineside import BeforeTool, Client  # noqa: E402
from lineside.daemon import command  # noqa: E402

COUNT = int(os.environ.get("COUNT", "3000"))
ROUNDS = 30

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
        await client.session("above", hooks=[gate])
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


async def times(ask, count: int) -> list[float]:
    took = []
    for _ in range(count):
        began = time.perf_counter_ns()
        await ask()
        took.append((time.perf_counter_ns() - began) / 1000)
    return took


async def median(what: str, ask, count: int = COUNT) -> float:
    await times(ask, count // 10)
    value = statistics.median(await times(ask, count))
    print(f"{what:58} {value:8.1f} µs")
    return value


def started(text: str, *arguments: str) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": SOURCES}
    process = subprocess.Popen(
        [sys.executable, "-c", text, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    )
    assert process.stdout is not None and process.stdout.readline() == b"ready\n"
    return process


async def beside_echo(folder: str, event: object, publish) -> float:
    """An event in echoes: the median of the ratios of rounds."""
    path = f"{folder}/echo"
    with started(ECHO, path) as peer:
        reader, writer = await asyncio.open_unix_connection(path)

        async def ask() -> None:
            writer.write(json.dumps(event).encode() + b"\n")
            json.loads(await reader.readline())

        echoes, events = [], []
        for round in range(ROUNDS + 1):
            one, other = await times(ask, COUNT // ROUNDS), await times(publish, COUNT // ROUNDS)
            # The first one warms them up.
            if round:
                echoes.append(statistics.median(one))
                events.append(statistics.median(other))
        writer.close()
        await writer.wait_closed()
        peer.wait()
    print(f"{'an echo':58} {statistics.median(echoes):8.1f} µs")
    print(f"{'an event, nothing registered':58} {statistics.median(events):8.1f} µs")
    return statistics.median(event / echo for event, echo in zip(events, echoes))


@contextlib.asynccontextmanager
async def daemon(folder: str):
    """The command of LINESIDE_COMMAND, of whichever version."""
    socket = f"{folder}/run/lineside.sock"
    places = ["--home", f"{folder}/home", "--socket", socket, "--state", f"{folder}/state"]
    process = subprocess.Popen([command(), "serve", *places], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdout.readline()
    try:
        async with Client(socket) as client:
            yield client
    finally:
        process.terminate()
        process.wait()


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o700)
        home, project = Path(folder, "home"), Path(folder, "project")
        project.mkdir()
        worker = Path(folder, "worker.py")
        worker.write_text(f"import sys; sys.path.insert(0, {SOURCES!r})\n{WORKER}")
        (home / ".config/lineside").mkdir(parents=True)
        (home / ".config/lineside/hooks.yaml").write_text(HOOKS % (sys.executable, worker))
        payload = BeforeTool("Shell", {"command": "ls -la src"})
        async with daemon(folder) as client:
            async with client.session("bare", cwd=str(project)) as session:
                event = {"point": "before_tool", "session": "bare", "payload": payload}
                plain = await beside_echo(folder, event, lambda: session.publish(payload))
                warm = BeforeTool("Warm", {"command": "ls -la src"})
                asked = await median("the same with a gate in a warm worker of Python", lambda: session.publish(warm))
            with started(GATE, client.socket) as other:
                async with client.session("below", parent="above") as session:
                    gate = await median("the same with a gate of another process, attached", lambda: session.publish(payload))
                other.stdin.close()
                other.wait()
    print(f"\nan event / an echo: {plain:.2f} (at most 1.5)")
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
    client = seconds("from lineside import BeforeTool, Client")
    print(f"import lineside: {(whole - empty) * 1000:.0f} ms above an empty interpreter (at most 40)")
    print(f"with its client {(client - empty) * 1000:.0f} ms, of which asyncio alone has {(loop - empty) * 1000:.0f} ms")


if __name__ == "__main__":
    imports()
    asyncio.run(main())
