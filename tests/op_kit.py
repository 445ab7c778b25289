"""Streams, events and ops that do what a test tells them, so that nothing depends on time."""

from __future__ import annotations

import threading
import time

from tilewright.base.errors import LaunchError
from tilewright.devices.timeline import Timeline
from tilewright.op.context import ExecutionContext
from tilewright.op.core import Composite, DeviceOp

WATCHDOG = 30
"""Seconds after which something hangs for sure."""


class HandProgress:
    """Says again and again that something may have passed."""

    def watch(self, event):
        pass

    def poke(self):
        pass

    def wait(self, seen, timeout=None):
        time.sleep(0.0005)
        return seen + 1


class HandDevice:
    """A device whose streams a test moves."""

    def __init__(self, name="hand"):
        self.name = name
        self.progress = HandProgress()


HAND = HandDevice()


class HandEvent:
    """A point that is passed when the test says so."""

    def __init__(self, stream=None):
        self.stream = stream or HandStream()
        self.passed = threading.Event()

    def done(self):
        return self.passed.is_set()

    def wait(self, timeout=None):
        passed = self.passed.wait(WATCHDOG if timeout is None else timeout)
        assert passed or timeout is not None, "nobody released the event"
        return passed


class HandStream:
    """A stream whose work is done when the test calls `release`; `log` is what was put on it."""

    def __init__(self, device=HAND, number=0, held=False):
        self.device, self.number, self.timeline = device, number, Timeline()
        self.is_capturing = False
        self.captured = 0
        self.log, self.due, self.events = [], [], []
        self.held = held

    def hold(self):
        self.held = True

    def release(self):
        self.held = False
        for event in list(self.events):
            event.passed.set()

    def idle(self):
        return not self.held

    def full(self):
        return False

    def record(self):
        event = HandEvent(self)
        self.events.append(event)
        if not self.held:
            event.passed.set()
        return event

    def wait_for(self, event):
        self.log.append(("wait_for", event))

    def copy(self, target, source, *, inline=False):
        self.log.append(("copy", target, source))

    def fill(self, target, element, *, inline=False):
        self.log.append(("fill", target, element))

    def after(self, callback):
        self.due.append(callback)

    def sweep(self):
        if not self.held:
            due, self.due = self.due, []
            for callback in due:
                callback()

    def synchronize(self):
        self.record().wait()
        self.sweep()

    def begin_capture(self):
        self.is_capturing = True

    def end_capture(self):
        self.is_capturing = False
        self.captured = 0


def capturing(stream):
    """A context in which work is recorded."""
    ctx = ExecutionContext(stream)
    ctx.recording = object()
    return ctx


class Give(DeviceOp):
    """Gives a value, and counts how often it ran."""

    def __init__(self, value=1):
        self.value = value
        self.ran = []

    def execute(self, ctx):
        self.ran.append(ctx)
        return self.value


class Effect(Give):
    effect = True


class Failing(DeviceOp):
    """Cannot be started."""

    def execute(self, ctx):
        raise ValueError("no")


class FailsOnDevice(DeviceOp):
    """Starts work that fails on the device."""

    def __init__(self, text="check failed"):
        self.text = text

    def execute(self, ctx):
        outcome = ctx.outcome(self)
        ctx.stream.after(lambda: outcome.settle(LaunchError(self.text)))
        outcome.event = ctx.stream.record()
        return "started"


class HostData(Composite):
    """Gives host data once the event of its test has passed."""

    host_data = True

    def __init__(self, event=None, data="data"):
        self.event, self.data = event or HandEvent(), data

    def steps(self, ctx):
        yield self.event
        return self.data


class Borrowing(Give):
    """Borrows a tensor."""

    def borrows(self, given):
        return "it borrows `x`"


def in_threads(function, count=16):
    """What `function` gives or raises in each of so many threads, started together."""
    results, barrier = [], threading.Barrier(count)

    def run():
        barrier.wait(WATCHDOG)
        try:
            results.append(function())
        except Exception as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WATCHDOG)
    assert len(results) == count
    return results
