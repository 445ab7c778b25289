"""Records of choices on disk: JSON, one file for each, written whole or not at all.

A record is untrusted input: it names one of the configurations that the program declares, by its
text, so that what it can do at worst is to choose a slow one.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn, TypeGuard

from ..base.config import cache_directory, current
from ..base.errors import KernelCacheError
from ..base.files import RefusedError, opened, write
from ..base.messages import tell
from ..compile.store.disk import READ, acquire

FOLDER = "tune"
"""The directory of records, in that of compiled code."""
VERSION = 1
"""The version of the format; records of another version are ignored."""
LARGEST = 1 << 20
"""Bytes of a record. Longer files are none."""
MOST = 1 << 16
"""Records of an exported file."""
NAME = re.compile(r"[0-9a-f]{64}\.json")
PATIENCE = 600.0
"""Seconds to wait for another process that tunes the same; then both do."""

Facts = Mapping[str, Any]
"""What a choice was made for: JSON, with the keys of `IDENTITY` and `VERSIONS`."""

IDENTITY = ("kernel", "source", "space", "constants", "key", "device")
"""What must be the same for a choice to be of any use."""
VERSIONS = "versions"
"""What a choice of this machine must have been made with: driver and compilers."""


class InvalidRecordError(ValueError):
    """A text that is no record; says why."""


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one configuration."""

    config: str
    seconds: float | None = None
    """Its time for one launch; None: it was dropped before it was measured."""
    samples: int = 0
    """How many measurements it took part in."""
    dropped: str = ""
    """Why it is out of the race; empty for the one that was chosen."""


@dataclass(frozen=True, slots=True)
class Record:
    """One choice: what for, what was chosen, and what was tried."""

    facts: Facts
    config: str
    tried: tuple[Tried, ...]

    @property
    def name(self) -> str:
        """The name of its file."""
        return name_of(self.facts)

    @property
    def identity(self) -> str:
        """What it is found by where versions do not count."""
        return identity_of(self.facts)

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        tried = [[t.config, t.seconds, t.samples, t.dropped] for t in self.tried]
        facts = dict(self.facts)
        return {"version": VERSION, "facts": facts, "config": self.config, "tried": tried}


def name_of(facts: Facts) -> str:
    """Return the name of the file of a choice."""
    return f"{_hash({**facts})}.json"


def identity_of(facts: Facts) -> str:
    """Return what identifies a choice, versions aside."""
    return _hash({name: facts[name] for name in IDENTITY})


def _hash(facts: Facts) -> str:
    return sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


# -------------------------------------------------------------------------------------------------
# Validation: from JSON of unknown origin to a record.


def parse(data: bytes) -> Any:
    """Return the JSON of a file; `InvalidRecordError` for what is none."""
    try:
        return json.loads(data.decode("utf-8"), parse_constant=_refuse_constant)
    except RecursionError:
        raise InvalidRecordError("it is nested too deeply") from None
    except ValueError as error:
        raise InvalidRecordError(str(error)) from None


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def validated(given: object) -> Record:
    """Return JSON as a record; `InvalidRecordError` says what is wrong with it."""
    found: dict[str, Any] = given if _is_object(given) else _refuse("it is no object")
    _require(found.get("version") == VERSION, f"its version is not {VERSION}")
    config: Any = found.get("config")
    tried: object = found.get("tried")
    facts: dict[str, Any] = _object_of(found.get("facts"))
    _require(set(facts) == {*IDENTITY, VERSIONS}, "its facts are not ours")
    _require(_is_object(facts[VERSIONS]), "its versions are no object")
    device = facts["device"]
    _require(_is_object(device) and _is_text(device.get("model")), "its device is not described")
    for name in ("kernel", "source", "space"):
        _require(_is_text(facts[name]), f"its {name} is no text")
    _require(_is_text(config), "its configuration is no text")
    rows: list[Any] = tried if _is_list(tried) else _refuse("it does not list what was tried")
    return Record(facts, config, tuple([_tried(row) for row in rows]))


def _tried(given: object) -> Tried:
    row: list[Any] = given if _is_list(given) else []
    _require(len(row) == 4, "a row of what was tried has not 4 entries")
    config, seconds, samples, dropped = row
    texts = _is_text(config) and _is_text(dropped)
    _require(texts and type(samples) is int and samples >= 0, "a row of what was tried is wrong")
    timed = seconds is None or (type(seconds) in (int, float) and 0 <= seconds < math.inf)
    _require(timed, "a time is no positive number")
    return Tried(config, seconds, samples, dropped)


def _require(holds: bool, problem: str) -> None:
    if not holds:
        _refuse(problem)


def _refuse(problem: str) -> NoReturn:
    raise InvalidRecordError(problem)


def _object_of(found: object) -> dict[str, Any]:
    return found if _is_object(found) else {}


def _is_object(found: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(found, dict)


def _is_list(found: object) -> TypeGuard[list[Any]]:
    return isinstance(found, list)


def _is_text(found: object) -> TypeGuard[str]:
    return isinstance(found, str)


# -------------------------------------------------------------------------------------------------
# Files of this machine, and records that programs bring along.

_IMPORTED: dict[str, Record] = {}
"""Records of `import_`, by identity."""


_AFRESH: ContextVar[bool] = ContextVar("tilewright_tune_afresh", default=False)


@contextmanager
def afresh() -> Generator[None, None, None]:
    """Find no record in a `with` block, so that everything is measured again."""
    token = _AFRESH.set(True)
    try:
        yield
    finally:
        _AFRESH.reset(token)


def directory() -> Path | None:
    """Return where records are kept; None where the settings turn that off."""
    root = cache_directory(current())
    return None if root is None else root / FOLDER


def find(facts: Facts) -> Record | None:
    """Return the record of a choice, if there is one: of this machine, else an imported one."""
    if _AFRESH.get():
        return None
    found = _read_own(name_of(facts))
    if found is not None and found.name == name_of(facts):
        return found
    return _IMPORTED.get(identity_of(facts))


def _read_own(name: str) -> Record | None:
    root = directory()
    if root is None:
        return None
    try:
        with opened(root) as folder:
            return _read(folder, root, name)
    except FileNotFoundError:
        return None
    except (OSError, RefusedError) as error:
        tell(f"records of tuning are not read: {error}")
        return None


def _read(folder: int, root: Path, name: str) -> Record | None:
    try:
        return validated(parse(_contents(folder, name)))
    except InvalidRecordError as error:
        tell(f"the record of tuning {root / name} is ignored: {error}")
        return None


def _contents(folder: int, name: str) -> bytes:
    file = os.open(name, READ, dir_fd=folder)
    with os.fdopen(file, "rb") as opened_file:
        data = opened_file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise InvalidRecordError("it is too long")
    return data


def put(record: Record) -> None:
    """Write a record for other processes; a disk that cannot be written does no harm."""
    root = directory()
    if root is None:
        return
    try:
        root.parent.mkdir(0o700, parents=True, exist_ok=True)
        with opened(root, create=True) as folder:
            write(folder, record.name, json.dumps(record.as_json(), indent=1).encode())
    except (OSError, RefusedError) as error:
        tell(f"the record of tuning `{record.facts['kernel']}` is not kept: {error}")


@contextmanager
def alone(facts: Facts) -> Generator[None, None, None]:
    """Keep other processes from tuning the same; goes on without that where it cannot be."""
    lock, root = None, directory()
    if root is not None:
        with suppress(OSError, RefusedError):  # `put` tells
            root.parent.mkdir(0o700, parents=True, exist_ok=True)
            with opened(root, create=True) as folder:
                lock = acquire(folder, f"{name_of(facts)}.lock", PATIENCE)
    try:
        yield
    finally:
        if lock is not None:
            with suppress(OSError):  # it ends with this process
                lock.release()


def own(kernel: str | None = None) -> Iterator[Record]:
    """Yield the records of this machine: of all kernels, or of those of one name."""
    root = directory()
    if root is None or not root.is_dir():
        return
    for path in sorted(root.iterdir()):
        found = _read_own(path.name) if NAME.fullmatch(path.name) else None
        if found is not None and kernel in (None, found.facts["kernel"]):
            yield found


def export(path: str | Path, *, kernels: Sequence[str] | None = None) -> int:
    """Write the records of this machine into a file, all or those of some kernels; how many.

    `import_` reads it: on another machine, or in a program that ships it.
    """
    found = [r.as_json() for r in own() if kernels is None or r.facts["kernel"] in kernels]
    text = json.dumps({"version": VERSION, "records": found}, indent=1)
    Path(path).write_text(text + "\n", encoding="utf-8")
    return len(found)


def import_(path: str | Path, *, keep: bool = False) -> int:
    """Use the records of a file in this process; returns how many there are.

    They need not be of the same versions of driver and compilers: who ships records vouches for
    them. Those of this machine come first. With `keep` they are written to its disk as well.
    """
    data = Path(path).read_bytes()
    try:
        listed: object = _object_of(parse(data)).get("records")
        found: list[Any] = listed if _is_list(listed) else _refuse("it has no list of records")
        _require(len(found) <= MOST, "it has too many records")
        records = [validated(each) for each in found]
    except InvalidRecordError as error:
        raise KernelCacheError(
            f"{path} is no file of tuning records, or is damaged",
            got=str(error),
            hint="`tw.tune.export(path)` writes one",
        ) from None
    for record in records:
        _IMPORTED[record.identity] = record
        if keep:
            put(record)
    return len(records)


def forget_imported() -> None:
    """Drop what was imported into this process."""
    _IMPORTED.clear()
