"""The words of the language and the rules that give them meaning: the same names and signatures."""

from __future__ import annotations

import builtins
import inspect
import operator

import pytest

import tilewright.lang as tl
from support.loops import for_each
from tilewright import simt
from tilewright.frontend.rules import FAMILIES, PROPERTIES, RULES
from tilewright.lang import elementwise
from tilewright.lang.marker import declared_name

OWNERS = {
    name: space
    for space in (simt, tl)
    for name in space.__all__
    if declared_name(getattr(space, name)) is not None
}
"""Where each word stands; those of both stand in `tl`."""
OWNERS["unwidened"] = elementwise  # for the standard library alone
FUNCTIONS = list(OWNERS)
CLASSES = {
    **dict.fromkeys(("Slice", "DisjointSlice", "Index", "Shared", "Elements", "Run", "Runs"), simt),
    **dict.fromkeys(("Tiles", "TileView"), simt),
    **dict.fromkeys(("Tile", "PointerTile", "Tensor", "TensorMut", "Partition", "PartitionMut",
                     "MappedPartitionMut", "PartitionIndex", "Global", "Accumulator"), tl),
}  # fmt: skip

OF_THE_HOST = {f"Global.{name}" for name in ("host", "memory", "to_numpy", "copy_from", "reset")}
"""What is not for kernels: globals are made, read and written on the host."""

REFUSALS = {"Tensor.store", "Tensor.store_at", "Tensor.partition_mut", "Partition.store"}
"""Rules for what people try on read-only tensors: they explain, and nothing is declared."""

DUNDERS = {"and_": "__and__", "or_": "__or__"} | {
    name: f"__{name}__"
    for name in (
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "xor", "lshift",
        "rshift", "lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "invert", "getitem",
    )
}  # fmt: skip


def shape_of(function, skip):
    """Parameters by name, kind and default, after the first `skip`."""
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    return [(p.name, p.kind.description, p.default) for p in parameters]


def keys(prefix):
    return sorted(
        key
        for key in RULES
        if key.startswith(f"{prefix}.") and key not in REFUSALS and "__" not in key
    )


@for_each(FUNCTIONS)
def test_every_function_has_a_rule_of_the_same_signature(name):
    assert name in RULES, f"tl.{name} means nothing"
    assert shape_of(RULES[name], 1) == shape_of(getattr(OWNERS[name], name), 0)


@for_each(sorted(key for key in RULES if "." not in key))
def test_every_rule_is_declared(name):
    assert name in FUNCTIONS, f"there is a rule for {name}, but no tl.{name}"


BESIDE = {"memory": ("accumulator", "pointer", "tensor"), "simt": ("slices",)}
"""Further files of a family: the classes that its functions take."""


@pytest.mark.parametrize("family", FAMILIES)
def test_declarations_stand_in_the_file_of_their_family(family):
    for name in FAMILIES[family]:
        if "." not in name:
            files = (family, *BESIDE.get(family, ()))
            allowed = {f"tilewright.lang.{file}" for file in files}
            assert getattr(OWNERS[name], name).__module__ in allowed, name


@pytest.mark.parametrize("cls", CLASSES)
def test_every_method_has_a_rule(cls):
    declared = {
        f"{cls}.{name}"
        for base in getattr(CLASSES[cls], cls).__mro__
        if base.__module__.startswith("tilewright.")
        for name in vars(base)
        if not name.startswith("_")
    }
    assert declared - OF_THE_HOST == set(keys(cls))


@for_each([key for cls in CLASSES for key in keys(cls)])
def test_methods_have_the_signature_of_their_rule(key):
    cls, _, name = key.partition(".")
    member = inspect.getattr_static(getattr(CLASSES[cls], cls), name)
    assert isinstance(member, property) == (key in PROPERTIES)
    if key not in PROPERTIES:
        assert shape_of(RULES[key], 2) == shape_of(member, 1)
        assert len(shape_of(RULES[key], 1)) == len(shape_of(RULES[key], 2)) + 1


def test_properties_have_rules():
    assert set(RULES) >= PROPERTIES
    assert {key.partition(".")[0] for key in PROPERTIES} <= set(CLASSES)


def test_every_operator_is_declared():
    assert {key.removeprefix("operator.") for key in keys("operator")} == set(DUNDERS)
    for name, dunder in DUNDERS.items():
        assert hasattr(operator, name)
        assert dunder in vars(tl.Tile), f"tiles do not declare {dunder}"


def test_rules_of_builtins_name_builtins():
    for key in keys("builtins"):
        assert hasattr(builtins, key.removeprefix("builtins."))


def test_no_other_prefixes():
    prefixes = {key.partition(".")[0] for key in RULES if "." in key}
    assert prefixes <= {*CLASSES, "operator", "builtins"}


@for_each(FUNCTIONS)
def test_functions_are_for_kernels(name):
    with pytest.raises(TypeError) as caught:
        getattr(OWNERS[name], name)()
    message, hint = str(caught.value).splitlines()
    threads = OWNERS[name] is simt
    what = f"simt.{name} can only be used inside a SIMT kernel"
    assert message == (what if threads else f"tl.{name} can only be used inside a kernel")
    assert hint.startswith("  hint: ")
    assert ("@simt.kernel" if threads else "@tw.entry") in hint


@for_each(FUNCTIONS)
def test_functions_are_described(name):
    first, *_ = (getattr(OWNERS[name], name).__doc__ or "").splitlines()
    assert first.endswith((".", ":"))


def test_names_are_exported_once():
    assert len(tl.__all__) == len(set(tl.__all__))
    assert all(hasattr(tl, name) for name in tl.__all__)
