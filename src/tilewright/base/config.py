"""Settings: one table, read from the environment once, frozen, overridable in a `with` block.

This is the only reader of the environment. Code asks `current()` when it needs a setting; a setting
changed by `override` holds for this task or thread until the block ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from .errors import Error
from .messages import tell
from .system import HAS_PRIVATE_FILES

PREFIX = "TILEWRIGHT_"


@dataclass(frozen=True, slots=True)
class Config:
    """The value of every setting; the fields are the names of `SETTINGS`."""

    device: str = ""
    num_threads: int = 0
    cpu_devices: int = 1
    scratch_limit: int = 64 << 20
    verify: bool = False
    dump: frozenset[str] = frozenset()
    dump_dir: str = ""
    cache_dir: str = ""
    cache_size: int = 1 << 30
    target: str = ""
    tileiras_path: str = ""
    tileiras_timeout: int = 300
    selection_seconds: float = 1.0
    libdevice: str = ""
    line_info: bool = False
    checks: str = "placed"
    autotune: str = "full"
    traceback: str = "short"


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name in programs, how its variable is read, and what it does."""

    name: str
    kind: str
    read: Callable[[str], Any]
    default: str
    doc: str

    @property
    def variable(self) -> str:
        """The environment variable, `TILEWRIGHT_NUM_THREADS` for `num_threads`."""
        return PREFIX + self.name.upper()


def _text(text: str) -> str:
    return text.strip()


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def _some(text: str) -> int:
    value = _count(text)
    if value == 0:
        raise ValueError(text)
    return value


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError(text)
    return value


UNITS = {"K": 10, "M": 20, "G": 30}


def _bytes(text: str) -> int:
    text = text.strip().upper().removesuffix("IB").removesuffix("B")
    shift = UNITS.get(text[-1:], 0)
    return _count(text[:-1] if shift else text) << shift


SWITCH = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}


def _switch(text: str) -> bool:
    key = text.strip().lower()
    if key not in SWITCH:
        raise ValueError(text)
    return SWITCH[key]


def _names(text: str) -> frozenset[str]:
    return frozenset(word.strip() for word in text.split(",") if word.strip())


CHECKS = ("placed", "pinned", "forced")
"""Ways to place the checks of a kernel; all but the first are for tests and measurements."""


def _checks(text: str) -> str:
    key = text.strip().lower()
    if key not in CHECKS:
        raise ValueError(text)
    return key


AUTOTUNE = ("off", "cached", "full")
"""What tuned kernels do: use their first configuration, look for a record as well, or measure."""


def _autotune(text: str) -> str:
    key = text.strip().lower()
    if key not in AUTOTUNE:
        raise ValueError(text)
    return key


TRACEBACKS = ("short", "full")
"""Whether tracebacks of errors show frames of Tilewright's own."""


def _traceback(text: str) -> str:
    key = text.strip().lower()
    if key not in TRACEBACKS:
        raise ValueError(text)
    return key


SETTINGS: tuple[Setting, ...] = (
    Setting("device", "name", _text, "the first GPU, else the CPU",
            "The default device: `cuda`, `cuda:1`, `cpu` or `reference`."),
    Setting("num_threads", "count", _count, "0",
            "Threads of the CPU device; 0 means one per core this process may use."),
    Setting("cpu_devices", "count, 1 or more", _some, "1",
            "Devices that share the processors and the memory of the host: `cpu`, `cpu:1` and so"
            " on. Programs for several devices run on them without a GPU. Read once."),
    Setting("scratch_limit", "bytes", _bytes, "64M",
            "Limit of the scratch memory of one block of a CPU kernel; more is a CompileError."),
    Setting("verify", "0 or 1", _switch, "0",
            "Verify the IR after every pass, not only after the front end and at the end."),
    Setting("dump", "names", _names, "none",
            "Stages to dump, comma-separated, or `all`."),
    Setting("dump_dir", "directory", _text, "standard error",
            "Directory for dumps, one file per kernel and stage."),
    Setting("cache_dir", "directory or `off`", _text, "`~/.cache/tilewright`",
            "Directory of the disk cache of compiled code; only its owner may have access."),
    Setting("cache_size", "bytes", _bytes, "1G",
            "Size limit of the disk cache; least recently used entries are removed first."),
    Setting("target", "architecture", _text, "the local GPU's",
            "Target architecture of `tilewright` and `kernel.ptx()`, such as `sm_90`."),
    Setting("tileiras_path", "file", _text, "found",
            "The assembler of CUDA kernels, or the `.json` that describes it for a transferred"
            " cache; else that of the installed wheel, of `CUDA_TOOLKIT_PATH`, or on `PATH`."),
    Setting("tileiras_timeout", "seconds", _count, "300",
            "Time limit of the assembler for one kernel; 0 means no limit."),
    Setting("selection_seconds", "seconds", _seconds, "1",
            "Time to compile other candidates of a CUDA kernel than its default, in parallel, where"
            " that spills or has too few loads in flight; 0 ships the default."),
    Setting("libdevice", "file or `off`", _text, "found",
            "NVIDIA's math functions for SIMT kernels on GPUs, `libdevice.10.bc`; else that"
            " of the installed wheel, of `CUDA_TOOLKIT_PATH`, or of `/usr/local/cuda`. With `off`,"
            " or if there is none, our own functions are used. Read when a kernel is compiled."),
    Setting("line_info", "0 or 1", _switch, "0",
            "Emit line information: profilers and debuggers of CUDA kernels show Python lines."),
    Setting("checks", "`placed`, `pinned` or `forced`", _checks, "`placed`",
            "Placement of bounds checks: `pinned` keeps the remaining checks at their accesses,"
            " `forced` makes the kernel evaluate all of them. Read when a kernel is compiled."),
    Setting("autotune", "`off`, `cached` or `full`", _autotune, "`full`",
            "What kernels under `tw.autotune` do: `full` measures where there is no record,"
            " `cached` uses records alone, `off` always uses the first configuration."),
    Setting("traceback", "`short` or `full`", _traceback, "`short`",
            "Whether tracebacks end at the line of the program, or show Tilewright's own too."),
)  # fmt: skip


def from_environment(environment: Mapping[str, str]) -> Config:
    """Read every setting from a mapping of environment variables; an empty one counts as unset."""
    _warn_of_unknown(environment)
    given = {s.name: _read(s, text) for s in SETTINGS if (text := environment.get(s.variable))}
    return Config(**given)


def _read(setting: Setting, text: str) -> Any:
    try:
        return setting.read(text)
    except ValueError:
        raise Error(
            f"the environment variable {setting.variable} has an invalid value",
            expected=f"{setting.kind} (default: {setting.default})",
            got=repr(text),
            hint=setting.doc,
        ) from None


def _warn_of_unknown(environment: Mapping[str, str]) -> None:
    known = [s.variable for s in SETTINGS]
    for name in environment:
        if name.startswith(PREFIX) and name not in known:
            from difflib import get_close_matches

            near = get_close_matches(name, known, 1, cutoff=0.85)
            advice = f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}"
            tell(f"{name} is not a setting; {advice}", stacklevel=2)


@cache
def of_process() -> Config:
    """Return the settings of the environment, which is read at the first call."""
    return from_environment(os.environ)


OVERRIDDEN: ContextVar[Config | None] = ContextVar("tilewright_config", default=None)
"""The settings that a `with` block is in force for; native code asks for them, too."""


def current() -> Config:
    """Return the settings in force here; the environment is read at the first call."""
    return OVERRIDDEN.get() or of_process()


def cache_directory(config: Config, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the directory of the disk cache; None where it is off."""
    if config.cache_dir.lower() == "off" or not HAS_PRIVATE_FILES:
        return None
    try:
        if config.cache_dir:
            return Path(config.cache_dir).expanduser().absolute()
        given = Path(environment.get("XDG_CACHE_HOME", ""))
        # The XDG rules: a relative path does not count.
        home = given if given.is_absolute() else Path("~/.cache").expanduser()
    except RuntimeError:
        return None  # this user has no home directory
    return home / "tilewright"


def toolkit_directory(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Return the directory of the CUDA toolkit that the environment names, or None."""
    given = environment.get("CUDA_TOOLKIT_PATH", "")
    return Path(given) if given else None


def child_environment(
    without: Sequence[str], environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment for a process of another program, without some variables."""
    return {name: value for name, value in environment.items() if name not in without}


@contextmanager
def override(**changes: Any) -> Generator[Config, None, None]:
    """Change settings for a `with` block, in this task or thread only.

    >>> with override(num_threads=2):
    ...     current().num_threads
    2
    """
    unknown = changes.keys() - {s.name for s in SETTINGS}
    if unknown:
        names = ", ".join(s.name for s in SETTINGS)
        raise TypeError(f"no setting is named {', '.join(sorted(unknown))}; there are {names}")
    token = OVERRIDDEN.set(replace(current(), **changes))
    try:
        yield current()
    finally:
        OVERRIDDEN.reset(token)


def table() -> str:
    """Return all settings as a Markdown table, for the documentation."""
    rows = [f"| `{s.name}` | `{s.variable}` | {s.kind} | {s.default} | {s.doc} |" for s in SETTINGS]
    head = ["| setting | variable | value | default | meaning |", "|---|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def give_default(variable: str, value: str) -> None:
    """Set an environment variable that another library reads later, unless it is set."""
    os.environ.setdefault(variable, value)
