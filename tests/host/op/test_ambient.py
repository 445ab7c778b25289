from __future__ import annotations

import contextvars
import os
import threading

import pytest

from tilewright.base.config import override
from tilewright.base.errors import ContextError, SchedulingError
from tilewright.devices.host import CPU, NULL, REFERENCE
from tilewright.op import ambient
from tilewright.op.ambient import (
    as_device,
    default_device,
    default_policy,
    device,
    devices,
    known_device,
    set_default_device,
    set_default_policy,
    synchronize,
    unsafe,
    unsafe_allowed,
    with_default_device_policy,
)
from tilewright.op.core import DeviceOp
from tilewright.op.policy import SingleStream


@pytest.mark.cpu_alone
def test_the_cpu_is_the_default():
    assert default_device() is CPU
    assert as_device(None) is CPU
    assert devices() == (CPU, REFERENCE, NULL)


def test_a_block_chooses_and_gives_back():
    before = default_device()
    with device("reference") as chosen:
        assert chosen is default_device() is REFERENCE
        with device(CPU):
            assert default_device() is CPU
        assert default_device() is REFERENCE
    assert default_device() is before


def test_a_block_holds_for_its_thread_only():
    seen = []
    with device("reference"):
        thread = threading.Thread(target=lambda: seen.append(default_device()))
        thread.start()
        thread.join()
    assert seen == [default_device()]


def test_the_default_is_known_without_looking_for_gpus(monkeypatch):
    """Until somebody needs it; then it stays known."""
    monkeypatch.setattr(ambient._Process, "looked", False)
    monkeypatch.setattr(ambient._Process, "best", None)
    monkeypatch.setattr(ambient, "best_device", lambda: NULL)
    with override(device=""):
        assert known_device() is None
        with device("reference"):
            assert known_device() is REFERENCE
        assert default_device() is NULL
        assert known_device() is NULL
    monkeypatch.setattr(ambient._Process, "looked", False)
    with override(device="cpu"):
        assert known_device() is CPU
    with override(device="cuda"):
        assert known_device() is None
    monkeypatch.setattr(ambient._Process, "device", REFERENCE)
    assert known_device() is REFERENCE


def test_the_process_default(monkeypatch):
    monkeypatch.setattr(ambient._Process, "device", None)
    set_default_device("reference")
    assert default_device() is REFERENCE
    with device("cpu"):
        assert default_device() is CPU


def test_the_setting():
    with override(device="reference"):
        assert default_device() is REFERENCE


def test_an_unknown_device(golden):
    with pytest.raises(ContextError) as caught:
        as_device("gpu:9")
    golden(str(caught.value))


def test_unsafe_as_block_and_decorator():
    assert not unsafe_allowed()
    with unsafe():
        assert unsafe_allowed()
        with unsafe():
            assert unsafe_allowed()
        assert unsafe_allowed()

    @unsafe
    def risky(n):
        return n, unsafe_allowed()

    assert risky(3) == (3, True)
    assert not unsafe_allowed()


def test_unsafe_ends_on_errors():
    with pytest.raises(ValueError, match="out"), unsafe():
        raise ValueError("out")
    assert not unsafe_allowed()


class Where(DeviceOp):
    """Gives the stream it runs on."""

    def execute(self, ctx):
        return ctx.stream


def test_a_policy_for_a_block():
    stream = CPU.new_stream()
    with with_default_device_policy(SingleStream(stream)) as policy:
        assert default_policy() is policy
        assert [Where().sync() for _ in range(3)] == [stream] * 3
    assert Where().sync() is not stream


def test_a_function_of_the_policy_in_force():
    stream = CPU.new_stream()
    with with_default_device_policy(SingleStream(stream)):
        assert with_default_device_policy(lambda policy: policy.next_stream()) is stream


def test_a_device_block_brings_its_own_policy():
    with with_default_device_policy(SingleStream(CPU.new_stream())), device("reference"):
        assert Where().sync().device is REFERENCE


def test_the_policy_of_a_device(monkeypatch):
    monkeypatch.setattr(ambient, "_POLICIES", {})
    here = default_device()
    stream = here.new_stream()
    set_default_policy(SingleStream(stream))
    assert Where().sync() is stream
    assert default_policy(here).next_stream() is stream
    with pytest.raises(SchedulingError, match="live on another device"):
        set_default_policy(SingleStream(stream), "reference")


def test_tasks_do_not_see_each_others_choice():
    def choose():
        with device("reference"):
            seen.append(default_device())

    seen, before = [], default_device()
    contextvars.copy_context().run(choose)
    assert [*seen, default_device()] == [REFERENCE, before]


def test_synchronize():
    synchronize()
    synchronize("cpu")


@pytest.mark.cpu_alone
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_process_chooses_among_its_own_streams():
    used = [Where().sync() for _ in range(4)]
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if Where().sync() not in used else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
