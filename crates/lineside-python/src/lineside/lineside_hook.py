"""Turns functions into warm hooks: one process that answers every event, instead of one for each.

    from lineside_hook import hook, serve

    @hook
    def check(event):
        if "rm -rf /" in event["tool_input"].get("command", ""):
            return {"decision": "deny", "reason": "refuses to delete /"}

    serve()

A function is given the event and returns what a HOOK.md hook would print: a dictionary, or None for no objection.
It may be `async`. If it has a parameter `call` it is given that as well: `call.hook`, `call.remaining()` in seconds,
`call.environment` for programs that it starts, and `call.cancelled()`, which a long function asks from time to time. Calls run at the same time, plain functions in
threads. An exception is a failure, and its traceback goes to standard error, where everything goes that is printed.

Started as a plain command, the same file reads one event and prints one answer.

One file, no dependencies, Python 3.9 or later. The protocol is described in docs/workers.md of lineside.
"""

import asyncio
import inspect
import json
import os
import sys
import threading
import time
import traceback

__all__ = ["hook", "serve", "Call"]

PROTOCOL = 2
_hooks = {}
# Made once: `json.dumps` makes one for each text.
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

# A hook whose last call took less than this, in seconds, is quick: waking another thread that reads meanwhile would
# take longer than its next call.
_QUICK = 0.001
# The time between two looks at whether a call of a quick hook takes longer, in seconds.
_TICK = 0.005
# After this many looks without a new call, the thread that looks sleeps until the next call.
_TICKS = 20


# What an answer may have, in the formats whose hooks are workers.
_KEYS = (
    "decision", "reason", "modified_input", "additional_context", "log",
    "verdict", "amend", "context", "notice",
)
_told = set()


def hook(function=None, *, name=None):
    """Makes a function a hook: `@hook` for every hook of this program, `@hook(name="…")` for the one of that name."""
    if function is None:
        return lambda function: hook(function, name=name)
    _hooks[name] = _Hook(function)
    return function


class _Hook:
    def __init__(self, function):
        self.function = function
        self.is_quick = False
        self.is_async = inspect.iscoroutinefunction(function)
        try:
            self.takes_call = "call" in inspect.signature(function).parameters
        except (TypeError, ValueError):
            self.takes_call = False

    def __call__(self, call):
        return self.function(call.event, call=call) if self.takes_call else self.function(call.event)


class Call:
    """One call of a hook."""

    def __init__(self, frame):
        self.id = frame.get("id")
        self.hook = frame.get("hook")
        self.event = frame.get("event")
        # What a program inherits that is started for this event: `env={**os.environ, **call.environment}`.
        self.environment = frame.get("environment") or {}
        self._until = time.monotonic() + frame.get("deadline_ms", 600000) / 1000
        self._cancelled = False
        self._task = None

    def cancelled(self):
        """Whether nobody waits for the answer any more. A function that goes on all the same is ended by force."""
        return self._cancelled

    def remaining(self):
        """The seconds that are left."""
        return max(0.0, self._until - time.monotonic())


def serve(concurrency=16):
    """Answers calls until there are no more. `concurrency` is how many run at the same time."""
    calls, answers = _take_streams()
    first = calls.readline()
    frame = _read(first)
    if isinstance(frame, dict) and frame.get("type") == "hello":
        _Worker(calls, answers, frame, concurrency).run()
    else:
        _once(first + calls.read(), answers)


def _take_streams():
    """Standard input and output, for frames alone: what the hooks print, and what they start prints, is the log."""
    calls = os.fdopen(os.dup(0), "rb")
    answers = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    sys.stdout.flush()
    os.dup2(2, 1)
    sys.stdout.reconfigure(line_buffering=True)
    return calls, answers


def _read(line):
    try:
        return json.loads(line)
    except ValueError:
        return None


def _write(descriptor, data):
    while data:
        data = data[os.write(descriptor, data) :]


def _data(answer):
    if not (answer is None or isinstance(answer, dict)):
        raise TypeError(f"a hook returns a dictionary or None, not {type(answer).__name__}")
    for key in answer or ():
        if key not in _KEYS and key not in _told and len(_told) < 100:
            _tell(key)
    return _encode(answer).encode()


def _tell(key):
    """Warns of a key that looks like another one; an answer without its decision allows."""
    import difflib

    _told.add(key)
    for near in difflib.get_close_matches(str(key), _KEYS, 1, 0.75):
        print(f"warning: an answer has the key {key!r}, did you mean {near!r}?", file=sys.stderr)


def _find(name):
    found = _hooks.get(name) or _hooks.get(None)
    if found is None:
        raise LookupError(f"there is no hook {name!r} here")
    return found


def _once(text, answers):
    """Without a worker: one event, one answer."""
    event = json.loads(text)
    call = Call({"event": event, "hook": (event.get("context") or {}).get("hook")})
    answer = _find(call.hook)(call)
    if inspect.isawaitable(answer):
        answer = asyncio.run(_awaited(answer))
    if answer is not None:
        _write(answers, _data(answer) + b"\n")


async def _awaited(answer):
    return await answer


class _Worker:
    """Its threads take turns: one reads, and runs the call that it has read itself, so that no call waits for a thread
    to wake up. It holds the lock `reading` while it reads, and not while it runs a call. Another thread watches: it
    takes the lock and reads on, at once where the hook is not quick, and otherwise when the same call runs at two
    looks. The others rest until there is no thread that watches."""

    def __init__(self, calls, answers, hello, concurrency):
        self.calls = calls
        self.answers = answers
        self.largest = hello.get("max_frame_bytes", 1 << 20)
        self.concurrency = concurrency
        self.open = {}
        self.begun = 0
        self.reading = threading.Lock()
        self.watching = threading.Lock()
        self.writing = threading.Lock()
        self.counting = threading.Lock()
        self.wake = threading.Event()
        self.asleep = False
        self.handed_on = False
        self.threads = 1
        self.resting = 0
        self.loop = None

    def run(self):
        self.write({"type": "hello", "protocol": PROTOCOL, "concurrency": self.concurrency})
        self.wake.set()
        self.take_turns()

    def take_turns(self):
        while True:
            self.count(1)
            with self.watching:
                self.watch()
            self.count(-1)
            reads = True
            while reads:
                found, call = self.next_call()
                if found.is_async:
                    asyncio.run_coroutine_threadsafe(self.wait(found, call), self.start_loop())
                else:
                    reads = self.run_call(found, call)

    def count(self, one):
        """Counts the threads that rest, and starts another one when the last of them has begun to read."""
        with self.counting:
            self.resting += one
            if self.resting > 0 or self.threads > self.concurrency:
                return
            self.threads += 1
        threading.Thread(target=self.take_turns, daemon=True).start()

    def watch(self):
        """Waits until this thread is the one that reads."""
        seen, ticks = self.begun, 0
        while True:
            if self.wake.wait(None if self.asleep else _TICK):
                self.wake.clear()
                ticks = 0
            same = self.begun == seen
            seen = self.begun
            ticks = ticks + 1 if same else 0
            # This comes before the look: a call that begins after the look finds it, and wakes this thread.
            self.asleep = ticks > _TICKS
            if (same or self.handed_on) and self.reading.acquire(False):
                self.asleep = False
                return

    def run_call(self, found, call):
        """Runs a plain function, and says whether this thread still is the one that reads."""
        began = time.monotonic()
        self.begun += 1
        self.handed_on = not found.is_quick
        self.reading.release()
        if self.handed_on or self.asleep:
            self.wake.set()
        try:
            data = _data(found(call))
        except BaseException as error:
            self.fail(call, error)
        else:
            self.answer(call, data)
        found.is_quick = time.monotonic() - began < _QUICK
        return self.reading.acquire(False)

    def next_call(self):
        """Reads until there is a call."""
        while True:
            line = self.calls.readline()
            if not line:
                # Whoever started us has closed our input.
                self.end()
            frame = _read(line)
            kind = frame.get("type") if isinstance(frame, dict) else None
            if kind == "call":
                call = Call(frame)
                self.open[call.id] = call
                try:
                    return _find(call.hook), call
                except LookupError as error:
                    self.over(call, {"type": "error", "error": str(error)})
            elif kind == "cancel":
                self.cancel(frame.get("id"))
            elif kind == "ping":
                self.write({"type": "pong"})
            elif kind == "shutdown":
                self.finish(frame.get("grace_ms", 0) / 1000)
            elif kind is None and line.strip():
                print("not a frame:", line[:200], file=sys.stderr)

    def start_loop(self):
        """The one loop of all asynchronous functions."""
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            threading.Thread(target=self.loop.run_forever, daemon=True).start()
        return self.loop

    async def wait(self, found, call):
        try:
            call._task = asyncio.current_task()
            if call.cancelled():
                raise asyncio.CancelledError
            data = _data(await found(call))
        except BaseException as error:
            self.fail(call, error)
        else:
            self.answer(call, data)

    def answer(self, call, data):
        frame = b'{"type":"answer","id":%s,"answer":%s}\n' % (_encode(call.id).encode(), data)
        if len(frame) > self.largest:
            return self.over(call, {"type": "error", "error": "the answer is larger than a line may be"})
        return self.over(call, frame)

    def fail(self, call, error):
        text = ""
        if not call.cancelled():
            traceback.print_exception(type(error), error, error.__traceback__)
            text = f"{type(error).__name__}: {error}"[:2000]
        self.over(call, {"type": "error", "error": text})

    def over(self, call, frame):
        """Says how a call ended; of one that was cancelled, that it is over."""
        self.open.pop(call.id, None)
        if call.cancelled():
            frame = {"type": "cancelled"}
        self.write(frame if isinstance(frame, bytes) else {**frame, "id": call.id})

    def cancel(self, number):
        call = self.open.get(number)
        if call is None:
            return self.write({"type": "cancelled", "id": number})
        call._cancelled = True
        if call._task is not None:
            self.loop.call_soon_threadsafe(call._task.cancel)
        return None

    def finish(self, grace):
        """Lets the calls under way end."""
        until = time.monotonic() + grace
        while self.open and time.monotonic() < until:
            time.sleep(0.002)
        self.write({"type": "bye"})
        self.end()

    def end(self):
        """Also for the threads that are not done: nobody waits for them any more."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def write(self, frame):
        data = frame if isinstance(frame, bytes) else json.dumps(frame).encode() + b"\n"
        try:
            with self.writing:
                _write(self.answers, data)
        except BrokenPipeError:
            os._exit(0)
