"""`tilewright cache`: lists, checks and removes compiled code that is cached on disk."""

from __future__ import annotations

import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

from ..backend.tileir.toolchain import description, find_toolchain
from ..base.config import cache_directory, current
from ..base.errors import CompileError, KernelCacheError
from ..compile.store import Store, disk_store, pack, refusal, unpack
from ..compile.store.disk import File
from .subcommand import FINE, WRONG, Subcommand, UsageError, aligned, in_bytes, say

SHOWN = 12
"""Digits of a name that `ls` shows."""
STEPS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def _store() -> Store:
    """Return the store in force; raise an error if none may be used."""
    store = disk_store()
    if store is None:
        raise KernelCacheError(
            "compiled code is not cached on disk",
            got=f"TILEWRIGHT_CACHE_DIR={current().cache_dir or 'unset, and no home directory'},"
            f" TILEWRIGHT_CACHE_SIZE={current().cache_size}",
            hint="set TILEWRIGHT_CACHE_DIR to a directory of your own",
        )
    problem = refusal(store.root)
    if problem is not None:
        raise KernelCacheError(f"the cache is not used: {problem}")
    return store


def what_for(facts: Mapping[str, object]) -> str:
    """Return the target of an entry's code: an architecture, or a CPU."""
    return str(facts.get("arch") or f"cpu {facts.get('cpu', '?')}")


def _ls(store: Store) -> int:
    rows = [("NAME", "KERNEL", "FOR", "SIZE", "USED")]
    for file in reversed(store.entries()):
        facts, problem = store.look(file.name)
        kernel = f"damaged: {problem}" if facts is None else str(facts.get("kernel", "?"))
        made_for = "" if facts is None else what_for(facts)
        rows.append((file.name[:SHOWN], kernel, made_for, in_bytes(file.size), _ago(file)))
    if len(rows) == 1:
        say(f"{store.root} is empty")
        return FINE
    for line in aligned(rows):
        say(line)
    return FINE


def _ago(file: File) -> str:
    seconds = max(int(time.time() - file.used), 0)
    length, unit = next(((n, u) for n, u in STEPS if seconds >= n), STEPS[-1])
    return f"{seconds // length} {unit} ago"


def _verify(store: Store) -> int:
    total = len(store.entries())
    damaged = store.verify()
    left = {file.name for file in store.entries()}
    for name, problem in damaged.items():
        say(f"damaged, {'not ' if name in left else ''}removed: {name}: {problem}")
    say(f"{total} entries, {len(damaged)} damaged, in {store.root}")
    return WRONG if damaged else FINE


def _clear(store: Store) -> int:
    removed = store.clear()
    nbytes = sum(file.size for file in removed)
    say(f"removed {len(removed)} entries, {in_bytes(nbytes)}, from {store.root}")
    left = len(store.entries())
    if left:
        say(f"{left} could not be removed")
    return WRONG if left else FINE


def _stats(store: Store) -> int:
    entries = store.entries()
    nbytes = sum(file.size for file in entries)
    kinds: Counter[str] = Counter()
    for file in entries:
        facts, _ = store.look(file.name)
        kinds["damaged" if facts is None else what_for(facts)] += 1
    rows = [
        ("directory", str(store.root)),
        ("entries", str(len(entries))),
        ("size", f"{in_bytes(nbytes)} of {in_bytes(store.capacity)}"),
        ("oldest use", _ago(entries[0]) if entries else "never"),
        ("newest use", _ago(entries[-1]) if entries else "never"),
        *((f"for {kind}", str(count)) for kind, count in sorted(kinds.items())),
    ]
    for line in aligned(rows):
        say(line)
    return FINE


def _path(_: Store) -> int:
    say(str(cache_directory(current())))
    return FINE


def _pack(store: Store, path: Path) -> int:
    count = pack(store, path, _about_assembler())
    say(f"{count} entries in {path}, {in_bytes(path.stat().st_size)}")
    return FINE


def _about_assembler() -> str:
    """Return the facts that let a machine without tileiras use its cubins, if it is known."""
    try:
        return description(find_toolchain())
    except CompileError:
        return ""


def _unpack(store: Store, path: Path) -> int:
    about, count = unpack(store, path)
    say(f"{count} entries put into {store.root}")
    if about:
        file = store.root / DESCRIPTION
        file.write_text(about, encoding="utf-8")
        say(f"where there is no tileiras: TILEWRIGHT_TILEIRAS_PATH={file}")
    return FINE


DESCRIPTION = "tileiras.json"
WITH_FILE: dict[str, tuple[str, Callable[[Store, Path], int]]] = {
    "pack": ("write all entries to FILE, for another machine", _pack),
    "unpack": ("add the entries of FILE: it is code, and must be trusted", _unpack),
}
ACTIONS: dict[str, tuple[str, Callable[[Store], int]]] = {
    "ls": ("list the entries, most recently used first", _ls),
    "verify": ("read all entries and remove damaged ones", _verify),
    "clear": ("remove all entries", _clear),
    "stats": ("how many there are, and how large", _stats),
    "path": ("where they are", _path),
}


def _add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("action", choices=(*ACTIONS, *WITH_FILE), help="what to do, see below")
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE", help="of pack and unpack")


def _run(given: Namespace) -> int:
    if given.action in ACTIONS:
        if given.file is not None:
            raise UsageError(f"`cache {given.action}` takes no file")
        return ACTIONS[given.action][1](_store())
    if given.file is None:
        raise UsageError(f"`cache {given.action}` needs a file")
    return WITH_FILE[given.action][1](_store(), given.file)


ABOUT = [
    *[(name, about) for name, (about, _) in ACTIONS.items()],
    *[(f"{name} FILE", about) for name, (about, _) in WITH_FILE.items()],
]

SUBCOMMAND = Subcommand(
    "cache",
    "manage the compiled code that is cached on disk",
    _add_arguments,
    _run,
    "\n".join(aligned(ABOUT, "  ")),
)
