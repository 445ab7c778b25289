"""What all operations share: none reads what each launch would have to watch."""

from __future__ import annotations

import importlib
import pkgutil
from types import FunctionType

from tilewright import ops
from tilewright.launch import Entry

CHANGING = (dict, list, set)


def read_by(function, seen):
    """The changing objects that a kernel reads, and functions of this package that it calls."""
    if function in seen:
        return
    seen.add(function)
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, CHANGING):
            yield f"{function.__module__}.{function.__qualname__} reads {name}"
        elif isinstance(value, FunctionType) and value.__module__.startswith(ops.__name__):
            yield from read_by(value, seen)


def test_kernels_read_nothing_that_may_change():
    found, kernels = [], 0
    for module in pkgutil.iter_modules(ops.__path__):
        if module.name == "torch":
            continue
        known = vars(importlib.import_module(f"{ops.__name__}.{module.name}"))
        entries = [value for value in known.values() if isinstance(value, Entry)]
        kernels += len(entries)
        for entry in entries:
            found += read_by(entry.__wrapped__, set())
    assert kernels > 40
    assert not found, "each launch looks for changes in Python:\n" + "\n".join(found)
