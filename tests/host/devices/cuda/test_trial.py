"""Code tried in another process: a program stands in for the driver, and dies as one would."""

from __future__ import annotations

import gc
import io
import sys
from pathlib import Path

import pytest

from tilewright.base.errors import DriverError
from tilewright.devices.cuda import trial_child
from tilewright.devices.cuda.trial import Trial, trial_on
from tilewright.devices.cuda.trial_child import CALLS, REPLY

STAND_IN = """
import os, signal, struct, sys, time
log = open(sys.argv[1], "a")
print("start", file=log, flush=True)
used = False
while len(head := sys.stdin.buffer.read(8)) == 8:
    code = sys.stdin.buffer.read(struct.unpack("<Q", head)[0])
    print(code[:20].decode(), file=log, flush=True)
    if code == b"crash" or (code == b"weak" and used):
        os.kill(os.getpid(), signal.SIGSEGV)
    if code == b"hang":
        time.sleep(600)
    if code == b"quit":
        sys.exit(3)
    used = True
    call, status = (0, 100) if code == b"busy" else (4, int(code)) if code.isdigit() else (8, 0)
    sys.stdout.buffer.write(struct.pack("<ii", call, status))
    sys.stdout.buffer.flush()
"""


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


@pytest.fixture
def trial(log):
    return Trial([sys.executable, "-c", STAND_IN, str(log)], patience=60)


def lines(log: Path) -> list[str]:
    return log.read_text().split()


def test_what_the_driver_says_is_told(trial):
    assert trial.attempt(b"fine") == ("cuModuleUnload", 0)
    assert trial.attempt(b"200") == ("cuModuleLoadData", 200)


def test_large_code(trial):
    assert trial.attempt(b"x" * (3 << 20)).status == 0


def test_code_is_tried_once_in_a_process_that_serves_again(trial, log):
    for _ in range(2):
        for code in (b"one", b"two"):
            trial.attempt(code)
    assert lines(log) == ["start", "one", "two"]


def test_a_crash_is_an_error_and_the_next_is_tried_anew(trial, log):
    for _ in range(2):
        with pytest.raises(DriverError, match="cannot be loaded on a CUDA device") as caught:
            trial.attempt(b"crash")
        assert caught.value.got == "5 bytes; the process that tried them first died (SIGSEGV)"
        assert "damaged" in caught.value.hint
    assert trial.attempt(b"fine").status == 0
    assert lines(log) == ["start", "crash", "start", "fine"]


def test_what_dies_in_a_used_process_gets_a_fresh_one(trial, log):
    """It may have died of what was loaded before, or have ended because nobody asked."""
    trial.attempt(b"fine")
    assert trial.attempt(b"weak").status == 0
    assert lines(log) == ["start", "fine", "weak", "start", "weak"]


def test_a_process_that_just_ends(trial):
    with pytest.raises(DriverError, match="ended with status 3"):
        trial.attempt(b"quit")


def test_a_process_that_hangs_is_ended(log):
    trial = Trial([sys.executable, "-c", STAND_IN, str(log)], patience=0.5)
    with pytest.raises(DriverError, match=r"took more than 0\.5 s"):
        trial.attempt(b"hang")


def test_what_hangs_is_not_tried_again_in_a_fresh_process(trial, log):
    trial.attempt(b"fine")
    trial._patience = 0.5
    for _ in range(2):
        with pytest.raises(DriverError, match=r"took more than 0\.5 s"):
            trial.attempt(b"hang")
    assert lines(log) == ["start", "fine", "hang"]
    trial._patience = 60
    assert trial.attempt(b"next").status == 0


def test_a_process_whose_device_was_lost_is_not_used_again(trial, log):
    assert trial.attempt(b"700").status == 700
    trial.attempt(b"fine")
    assert lines(log) == ["start", "700", "start", "fine"]


def test_where_the_driver_does_not_start_there_nothing_is_known(trial, log):
    for _ in range(2):
        with pytest.raises(DriverError, match="cannot be tested in a separate process") as caught:
            trial.attempt(b"busy")
        assert caught.value.got == "cuInit gives 100 there" and "trusted=True" in caught.value.hint
    assert lines(log) == ["start", "busy", "start", "busy"]


def test_a_program_that_cannot_be_started(tmp_path):
    with pytest.raises(DriverError, match="cannot be tested in a separate process"):
        Trial([str(tmp_path / "nothing")]).attempt(b"fine")


def test_the_process_ends_with_its_trial(log):
    trial = Trial([sys.executable, "-c", STAND_IN, str(log)])
    trial.attempt(b"fine")
    process = trial._process
    del trial
    gc.collect()
    assert process.returncode is not None


def test_the_real_program_without_a_driver(tmp_path):
    """It starts with no more than Python, and ends where there is no such library."""
    with pytest.raises(DriverError, match="ended with status 1"):
        trial_on(str(tmp_path / "libnone.so"), 0).attempt(b"code")


class Library:
    """A driver whose calls are noted; some are refused."""

    def __init__(self, **refused):
        self.refused = refused
        self.log = []

    def __getattr__(self, name):
        def call(*args):
            self.log.append(name)
            if name == "cuModuleGetFunctionCount":
                args[0]._obj.value = 2
            return self.refused.get(name, 0)

        return call


def served(library, *codes):
    asked = b"".join(trial_child.REQUEST.pack(len(code)) + code for code in codes)
    replies = io.BytesIO()
    trial_child.serve(trial_child.Driver(library), 0, io.BytesIO(asked), replies)
    data = replies.getvalue()
    return [(CALLS[call], status) for call, status in REPLY.iter_unpack(data)]


def test_the_program_loads_all_kernels():
    library = Library()
    assert served(library, b"one", b"two") == [("cuModuleUnload", 0)] * 2
    load = [
        "cuModuleLoadData", "cuModuleGetFunctionCount", "cuModuleEnumerateFunctions", "cuFuncLoad",
        "cuFuncLoad", "cuModuleUnload",
    ]  # fmt: skip
    assert library.log == [*CALLS[:4], *load, *load]


@pytest.mark.parametrize("call", CALLS)
def test_the_program_says_what_was_refused(call):
    assert served(Library(**{call: 7}), b"one", b"two") == [(call, 7)] * 2
