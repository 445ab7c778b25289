"""Streams and events that do what a test tells them, so that nothing depends on time."""

from __future__ import annotations

import threading

from tilewright.driver.host import CPU


class HandEvent:
    """A point that is passed when the test says so."""

    def __init__(self, stream=None):
        self.stream = stream
        self.passed = threading.Event()

    def done(self):
        return self.passed.is_set()

    def wait(self, timeout=None):
        return self.passed.wait(timeout)


class HandStream:
    """A stream whose work is done when the test calls `release`; `log` is what was put on it."""

    def __init__(self, device=CPU, number=0):
        self.device, self.number = device, number
        self.is_capturing = False
        self.captured = 0
        self.log, self.due, self.events = [], [], []
        self.held = False

    def hold(self):
        self.held = True

    def release(self):
        self.held = False
        for event in self.events:
            event.passed.set()

    def idle(self):
        return not self.held

    def record(self):
        event = HandEvent(self)
        self.events.append(event)
        if not self.held:
            event.passed.set()
        return event

    def wait_for(self, event):
        self.log.append(("wait_for", event))

    def copy(self, target, source):
        self.log.append(("copy", target, source))

    def fill(self, target, element):
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
