"""What all tests share: golden files, rewritten with `--accept`; a place for temporary files."""

from __future__ import annotations

import gc
import importlib
import math
import os
import random
import re
import secrets
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import core as hypothesis_core
from hypothesis import settings

from support import core_in_place

core_in_place.refresh()  # before the package is imported

from support.numbers import fresh_rng  # noqa: E402
from tilewright.base import files  # noqa: E402
from tilewright.base.errors import Code, CompileError  # noqa: E402

# Before anything reads the settings: a pass that breaks the IR is named at once.
os.environ.setdefault("TILEWRIGHT_VERIFY", "1")
# Kernels of tests are compiled once, as the tables say; tests of the selection ask for candidates.
os.environ.setdefault("TILEWRIGHT_SELECTION_SECONDS", "0")
# Tests are about the compiler that is here, not about what another one left on disk; and the cache
# of whoever runs them is theirs. Tests of the cache name a directory of their own. Where there is a
# GPU, a pack made by `make gpu-pack` may be used, and stands for its assembler.
PACK = str(Path(os.environ["GPU_PACK"]).absolute()) if "GPU_PACK" in os.environ else ""
os.environ["TILEWRIGHT_CACHE_DIR"] = f"{PACK}/cache" if PACK else "off"
if PACK:
    os.environ.setdefault("TILEWRIGHT_TILEIRAS_PATH", f"{PACK}/tileiras.json")

# A deadline per example fails on a busy machine, not on a wrong program.
settings.register_profile("fixed", deadline=None, print_blob=True, derandomize=True)
settings.register_profile("fresh", deadline=None, print_blob=True, derandomize=False)

pytest_plugins = ["support.last_words", "support.tiers", "tilewright_pytest"]

TESTS = Path(__file__).parent
GOLDENS = TESTS / "goldens"
LONG = ("toolchain", "typing")
"""Folders of the longest tests, which begin first."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept", action="store_true", help="write the golden files instead of comparing"
    )
    parser.addoption(
        "--seed", default="0", help="of random numbers and programs; `fresh` draws one and tells it"
    )
    parser.addoption("--on", default="", help="a device to run tests on that are run on the CPU")
    parser.addoption(
        "--suite-logs", default="build/gpu-suites", help="where tests/gpu logs the files it runs"
    )
    parser.addoption(
        "--simulate", default="", help="the architecture of a GPU that an interpreter stands for"
    )
    parser.addoption(
        "--assemble", action="store_true", help="assemble kernels of a simulated GPU as well"
    )
    parser.addoption("--shard", default="1/1", help="k/n: the k-th of n parts of the tests")


def pytest_configure(config: pytest.Config) -> None:
    """Tests that name no device run on the CPU, also where there is a GPU."""
    if config.getoption("--seed") == "fresh":
        config.option.seed = str(secrets.randbits(32))  # workers are given the same
    settings.load_profile("fixed" if config.getoption("--seed") == "0" else "fresh")
    os.environ["TILEWRIGHT_DEVICE"] = config.getoption("--on") or "cpu"
    if arch := config.getoption("--simulate"):
        simulated = importlib.import_module("support.simulated_cuda")
        simulated.install(arch, assemble=config.getoption("--assemble"))


def pytest_report_header(config: pytest.Config) -> str:
    """Say how to draw the same numbers again."""
    return f"--seed {config.getoption('--seed')}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--on cuda`, tests that run on several devices run on that one instead."""
    device = config.getoption("--on")
    if device:
        items[:] = [item for item in items if _moved(item, device)]
    first, step = map(int, config.getoption("--shard").split("/"))
    items[:] = items[first - 1 :: step]
    # Else one of two workers ends with them, and the other has nothing left to take.
    items.sort(key=lambda item: item.path.relative_to(TESTS).parts[0] not in LONG)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected is garbage, and looking for some takes an eighth of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def _moved(item: pytest.Item, device: str) -> bool:
    """Let a test run on a device instead of the CPU; whether it is to run at all."""
    callspec = getattr(item, "callspec", None)
    asked = None
    if callspec is not None:
        asked = callspec.params.get("device", callspec.params.get("tilewright_device"))
    if item.get_closest_marker("cpu_alone"):
        return False
    if asked == "cpu":
        for name in ("device", "tilewright_device"):
            if name in callspec.params:
                callspec.params[name] = device
        item.name = item.name.replace("cpu", device)
    return asked in (None, "cpu")


def pytest_unconfigure() -> None:
    """Let the interpreter collect everything when it ends, as modules in C++ expect."""
    gc.unfreeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What a test leaves to chance is the same each time: its numbers, programs and so its kernels.

    Chance decides how outputs lie in memory, and which numbers are constants. Of hypothesis's tests
    this holds for those that are not derandomized, whose shards would all try the same programs.
    """
    seed = item.config.getoption("--seed") + item.nodeid
    random.seed(seed)
    hypothesis_core.global_force_seed = random.Random(seed).getrandbits(64)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """With `--on`, an architecture that lacks what a test is about is no failure."""
    try:
        return (yield)
    except CompileError as error:
        if item.config.getoption("--on") and error.code is Code.TARGET:
            pytest.skip(error.message)
        raise


@pytest.fixture(scope="session", autouse=True)
def _temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests, and processes they start, leave in the temporary directory ends with them.

    It is one of pytest's own, so that it does not stay for ever where pytest is killed.
    """
    folder = tmp_path_factory.mktemp("tmp")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module", autouse=True)
def _older_objects_stay() -> None:
    """Let garbage collections pass over what was there before the tests of a module.

    Modules, frameworks and thousands of tests make a full collection take half a second, and many
    tests ask for one, some at each of hundreds of places.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture
def own_garbage() -> Iterator[None]:
    """Collect what a test leaves in cycles before the next one begins: tracebacks keep ops that
    were interrupted, whose finalizers warn."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def _hears_interrupts() -> Iterator[None]:
    """Tests, and processes they start, hear SIGINT where it is ignored: of jobs in the background.

    A handler is not inherited, so a process that a test starts has Python's own.
    """
    before = signal.getsignal(signal.SIGINT)
    ignored = before is signal.SIG_IGN and threading.current_thread() is threading.main_thread()
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if ignored:
        signal.signal(signal.SIGINT, before)


@pytest.fixture
def sources_count_as_old(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Code is kept though a source was changed just now, or is while tests run."""
    codec = importlib.import_module("tilewright.backend.llvm.object")
    known = (files.source_hash, codec._fixed)
    monkeypatch.setattr(files, "IMPORTED", math.inf)
    for each in known:
        each.cache_clear()
    yield
    for each in known:
        each.cache_clear()


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, whose seed is shown when a test fails."""
    return fresh_rng()


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """Compare a text with tests/goldens/<path of the test file>/<name of the test>.txt.

    `golden(text)` uses the test's own name; `golden(text, "name")` another one.
    """
    folder = GOLDENS / request.path.relative_to(TESTS).with_suffix("")
    accept = request.config.getoption("--accept")

    def compare(text: str, name: str = "") -> None:
        path = folder / f"{name or golden_name(request.node.name)}.txt"
        text = text if text.endswith("\n") else text + "\n"
        if accept:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        where = path.relative_to(TESTS.parent)
        assert path.exists(), f"{where} does not exist; run `pytest --accept` and read it\n\n{text}"
        expected = path.read_text(encoding="utf-8")
        assert text == expected, f"differs from {where}; if it is right, run `pytest --accept`"

    return compare


@pytest.fixture
def without_places():
    """Make a text independent of files, line numbers and a GPU, so that golden texts stay."""

    def without(text):
        text = re.sub(r"\S+\.py:\d+(:\d+)?", "FILE:LINE", text)
        text = re.sub(r", device='cuda:0'", "", text)  # with --on cuda
        return re.sub(r"(?m)^\d+ \|", lambda m: "N" * (len(m[0]) - 2) + " |", text)

    return without


@pytest.fixture
def places(without_places):
    """The text of an error, with its places made independent of line numbers."""
    return lambda error: without_places(f"{type(error).__name__}: {error}")


def golden_name(node: str) -> str:
    """A test's name as a file name: `test_caret[tab]` is `caret-tab`."""
    kept = node.removeprefix("test_").replace("[", "-").replace("]", "")
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in kept)
