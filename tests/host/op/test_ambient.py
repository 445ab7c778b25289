from __future__ import annotations

import threading

import pytest

from tilewright.base.config import override
from tilewright.base.errors import ContextError
from tilewright.driver.host import CPU, REFERENCE
from tilewright.op import ambient
from tilewright.op.ambient import (
    as_device,
    default_device,
    device,
    devices,
    set_default_device,
    unsafe,
    unsafe_allowed,
)


def test_the_cpu_is_the_default():
    assert default_device() is CPU
    assert as_device(None) is CPU
    assert devices() == (CPU, REFERENCE)


def test_a_block_chooses_and_gives_back():
    with device("reference") as chosen:
        assert chosen is default_device() is REFERENCE
        with device(CPU):
            assert default_device() is CPU
        assert default_device() is REFERENCE
    assert default_device() is CPU


def test_a_block_holds_for_its_thread_only():
    seen = []
    with device("reference"):
        thread = threading.Thread(target=lambda: seen.append(default_device()))
        thread.start()
        thread.join()
    assert seen == [CPU]


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
        as_device("cuda:9")
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
