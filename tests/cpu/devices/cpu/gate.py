"""A job that holds up its stream for as long as a test likes."""

from __future__ import annotations

import numpy as np

from cpu.devices.cpu.kernels import GATE, USLEEP, kernel, slots
from tilewright.devices.cpu.run import Launcher

PATIENCE = 60.0
"""Seconds after which a test that waits gives up."""


class Gate:
    """A job that runs until it is opened, a minute at most."""

    def __init__(self):
        self.word = np.zeros(1, np.int64)
        self.launcher = Launcher(kernel(GATE, USLEEP), slots(self.word).tolist(), (1,), 0, 0)

    def put_on(self, stream):
        stream.launch(self.launcher.record(), keep=self)

    def open(self):
        self.word[0] = 1
