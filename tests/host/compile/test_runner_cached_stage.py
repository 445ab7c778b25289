"""Processes that want the same at the same time make it once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tilewright.base.stage import ArtifactCodec, Saved
from tilewright.compile.runner import look_up
from tilewright.compile.store import Store

SCRIPT = """
import sys, time
from pathlib import Path
from tilewright.base.config import Config
from tilewright.base.stage import ArtifactCodec, Saved, Stage
from tilewright.compile.runner import Runner
from tilewright.compile.store import Store

root, log, begin, seconds = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]), sys.argv[4]

def make(x):
    with log.open("a") as file:
        file.write("made\\n")
    time.sleep(float(seconds))
    return b"code"

codec = ArtifactCodec(
    lambda x: {"kernel": "k"}, lambda x, code: Saved({}, code), lambda x, s: s.code
)
store = Store(root / "cache", 1 << 20)
print("ready", flush=True)
time.sleep(max(0.0, begin - time.time()))
run = Runner("k", Config(), store=store)
assert run.stages((Stage("make", make, str, codec),), 1) == b"code"
print(store.stats.hits, store.stats.misses, store.stats.puts, flush=True)
"""


def start(tmp_path, begin, seconds):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, str(tmp_path), str(tmp_path / "log"), str(begin),
         str(seconds)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process):
    with process:
        assert process.stdout.readline() in ("ready\n", "")
        return process.stdout.read().strip()


def test_processes_at_once_make_it_once(tmp_path):
    # Late enough for all of them to have started.
    begin = time.time() + 3.0
    results = [finish(p) for p in [start(tmp_path, begin, 0.5) for _ in range(4)]]
    assert (tmp_path / "log").read_text() == "made\n"
    assert sorted(results) == ["0 1 1", "1 0 0", "1 0 0", "1 0 0"]
    assert not list(tmp_path.rglob("*.lock"))


def test_a_process_that_dies_while_making_it_holds_nobody_up(tmp_path):
    first = start(tmp_path, 0.0, 60)
    try:
        log = tmp_path / "log"
        until = time.monotonic() + 30
        while not log.exists() and time.monotonic() < until:
            time.sleep(0.01)
        second = start(tmp_path, 0.0, 0.0)
        assert second.stdout.readline() == "ready\n"
        time.sleep(0.3)
        assert second.poll() is None, "the second should wait for the first"
        first.send_signal(signal.SIGKILL)
        begin = time.monotonic()
        with second:
            assert second.stdout.read().strip() == "0 1 1"
        assert time.monotonic() - begin < 10
        assert log.read_text() == "made\n" * 2
    finally:
        first.kill()
        first.wait()
        first.stdout.close()


@pytest.mark.parametrize("facts", [{"kernel": "k"}, None])
def test_nothing_is_asked_without_store_or_facts(tmp_path, facts):
    asked_for = []
    codec = ArtifactCodec(
        lambda x: asked_for.append(x) or facts, lambda x, r: Saved({}, r), lambda x, s: s.code
    )
    assert look_up(None, codec, 5) is None
    assert asked_for == []
    asked = look_up(Store(tmp_path / "cache", 1 << 20), codec, 5)
    assert asked_for == [5]
    assert (asked is None) == (facts is None)


def test_one_question(tmp_path):
    codec = ArtifactCodec(
        lambda x: {"kernel": x}, lambda x, r: Saved({"x": x}, r), lambda x, s: (x, s.code)
    )
    store = Store(tmp_path / "cache", 1 << 20)
    asked = look_up(store, codec, "k")
    assert asked.find() is None
    assert store.stats.misses == 0
    assert asked.get() is None
    assert store.stats.misses == 1
    with asked.alone():
        asked.put(b"code")
    assert asked.get() == asked.find() == ("k", b"code")
    assert look_up(store, codec, "other").get() is None
