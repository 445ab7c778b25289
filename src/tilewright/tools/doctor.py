"""`tilewright doctor`: what was found on this machine, what is missing, and how to get it."""

from __future__ import annotations

import json
import platform
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from re import match

from ..backend.llvm.object import host_target
from ..backend.ptx.module import find_libdevice
from ..backend.tileir.toolchain import INSTALL, architectures, bytecode_versions, find_toolchain
from ..base.config import SETTINGS, Config, cache_directory, current
from ..base.errors import CompileError
from ..compile.store import disk_store, refusal, trouble
from ..devices.cuda.bindings import SINCE
from ..devices.cuda.finding import NEWER
from .machine import SELF, ask_driver, own_version
from .subcommand import FINE, WRONG, Subcommand, aligned, in_bytes, say

OLDEST_DRIVER = (SINCE // 1000, SINCE % 1000 // 10)
"""CUDA version of the oldest driver that loads tile kernels."""
DRIVER_HINT = f"{NEWER}: https://www.nvidia.com/drivers"

ELSEWHERE = "make room there, or set TILEWRIGHT_CACHE_DIR to another directory"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what, what was found, whether it is `ok`, `missing` or `wrong`; what to do."""

    what: str
    found: str
    state: str = "ok"
    fix: str = ""


def _tilewright() -> Iterator[Finding]:
    yield Finding(SELF, own_version())
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    yield Finding("Python", f"{platform.python_version()} on {system}")
    defaults = Config()
    for setting in SETTINGS:
        value = getattr(current(), setting.name)
        if value != getattr(defaults, setting.name):
            yield Finding(setting.variable, str(value))


def _cpu() -> Iterator[Finding]:
    target = host_target()
    yield Finding("CPU", f"{target.name}, {target.triple}")


def _packages() -> Iterator[Finding]:
    """Return the packages that Tilewright needs, and those of its `cuda` extra."""
    try:
        lines = requires(SELF) or ()
    except PackageNotFoundError:
        text = f"{SELF} is not installed, so nothing says what it needs"
        yield Finding("packages", text, "wrong", f"pip install {SELF}")
        return
    for line in lines:
        needed, _, condition = line.partition(";")
        if condition and '"cuda"' not in condition.replace("'", '"'):
            continue
        named = match(r"[\w.-]+", needed.strip())
        assert named is not None, f"{line!r} names no package"
        try:
            yield Finding(named[0], version(named[0]))
        except PackageNotFoundError:
            fix = INSTALL if condition else f"pip install '{needed.strip()}'"
            yield Finding(named[0], "not installed", "missing", fix)


def _driver() -> Iterator[Finding]:
    driver = ask_driver()
    if driver.version is not None:
        old = driver.version < OLDEST_DRIVER
        text = f"supports CUDA {driver.version[0]}.{driver.version[1]}"
        yield Finding("driver", text, "wrong" if old else "ok", DRIVER_HINT if old else "")
    if driver.error:
        hint = DRIVER_HINT if driver.missing else "see `nvidia-smi` and the system's log"
        yield Finding("driver", driver.error, "missing" if driver.missing else "wrong", hint)
    known = _architectures()
    for number, gpu in enumerate(driver.gpus):
        text = f"{gpu.name}, {gpu.arch}, {gpu.processors} SMs, {in_bytes(gpu.memory)}"
        fits = not known or gpu.arch in known
        fix = "" if fits else f"pip install --upgrade nvidia-cuda-tileiras: it knows {known}"
        yield Finding(f"device {number}", text, "ok" if fits else "wrong", fix)


def _assembler() -> Iterator[Finding]:
    try:
        tool = find_toolchain()
    except CompileError as error:
        yield Finding("tileiras", error.got or error.message, "missing", error.hint or INSTALL)
        return
    yield Finding("tileiras", f"{tool.release} at {tool.path}")
    if not tool.is_here:
        yield Finding("tileiras", "only described: kernels come from the cache alone")
        return
    yield Finding("Tile IR", ", ".join(bytecode_versions(tool)))
    yield Finding("compiles for", ", ".join(architectures(tool.path)) or "it does not say")


def _functions() -> Iterator[Finding]:
    """Return the source of the math functions of SIMT kernels on a GPU."""
    try:
        found = find_libdevice()
    except CompileError as error:
        yield Finding("libdevice", error.got or error.message, "wrong", error.hint or "")
        return
    if found is not None:
        yield Finding("libdevice", found.path)
    elif current().libdevice:
        yield Finding("libdevice", "off: SIMT kernels use our own functions")
    else:
        text = "not found: SIMT kernels use our own functions, some of which are slower"
        yield Finding("libdevice", text, "missing", INSTALL)


def _architectures() -> Sequence[str]:
    try:
        tool = find_toolchain()
    except CompileError:
        return ()
    return architectures(tool.path) if tool.is_here else ()


def _cache() -> Iterator[Finding]:
    root, store = cache_directory(current()), disk_store()
    if root is None or store is None:
        yield Finding("directory", "off: every process compiles afresh")
        return
    problem = refusal(root)
    if problem is not None:
        yield Finding("directory", problem, "wrong", f"chmod 700 {root}, or remove it")
        return
    if not root.exists():
        yield Finding("directory", f"{root}, not made yet")
        return
    why = trouble(root)
    if why is not None:
        text = f"{root} cannot be written: {why}; what it holds is used, new kernels are not kept"
        yield Finding("directory", text, "wrong", ELSEWHERE)
    else:
        yield Finding("directory", f"{root}, mode {root.stat().st_mode & 0o7777:04o}")
    entries = store.entries()
    size = in_bytes(sum(file.size for file in entries))
    yield Finding("entries", f"{len(entries)}, {size} of {in_bytes(store.capacity)}")


SECTIONS: tuple[tuple[str, Callable[[], Iterator[Finding]]], ...] = (
    ("Tilewright", _tilewright),
    ("Processor", _cpu),
    ("Packages", _packages),
    ("NVIDIA driver", _driver),
    ("Assembler of CUDA kernels", _assembler),
    ("Math functions of SIMT kernels", _functions),
    ("Cache", _cache),
)
"""What is looked at, in the order of the report."""


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def _run(given: Namespace) -> int:
    report = {title: list(look()) for title, look in SECTIONS}
    if given.json:
        say(json.dumps({t: [asdict(f) for f in found] for t, found in report.items()}, indent=1))
    else:
        for line in lines(report):
            say(line)
    return WRONG if any(f.state == "wrong" for found in report.values() for f in found) else FINE


def lines(report: dict[str, list[Finding]]) -> Iterator[str]:
    """Format the report as text: the findings, then the remedies."""
    for title, findings in report.items():
        yield title
        marked = [(f.what, f.found if f.state == "ok" else f"{f.state}: {f.found}", "")
                  for f in findings]  # fmt: skip
        yield from aligned(marked, "  ")
    todo = [f for findings in report.values() for f in findings if f.fix]
    yield ""
    if not todo:
        yield "Nothing is missing."
        return
    yield "To do, for CUDA:" if all(f.state == "missing" for f in todo) else "To do:"
    yield from aligned([(f"{f.what}:", f.fix) for f in todo], "  ")
    if all(f.state == "missing" for f in todo):
        yield "Kernels run on the CPU without these."


SUBCOMMAND = Subcommand(
    "doctor",
    "report what was found on this machine, what is missing and how to install it",
    _add_arguments,
    _run,
    "exit status 0 also where CUDA is missing; 1 where something there cannot be used",
)
