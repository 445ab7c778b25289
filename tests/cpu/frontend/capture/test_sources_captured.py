"""What kernels read from outside: changes are seen by the next launch, and by nothing else."""

from __future__ import annotations

import builtins
import dataclasses
import enum
import functools
import types
from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

import pytest

import tilewright as tw
import tilewright.lang as tl
from tilewright import i32

WARM = 3
"""Launches after which the core runs a kernel, and watches what it captured."""


class Meta(type):
    LEVEL = 1

    @property
    def computed(cls) -> int:
        return cls.HIDDEN

    def of_meta(cls, tile):
        return tile + cls.K


class Base(metaclass=Meta):
    K = 1
    HIDDEN = 1

    @classmethod
    def of_class(cls, tile):
        return tile + cls.K

    @staticmethod
    def of_nobody(tile):
        return tile + Base.K

    def of_object(self, tile):
        return tile + self.K


class Derived(Base):
    pass


class Outer:
    class Inner:
        K = 1


class Described:
    """A descriptor: what an attribute is, code says."""

    def __get__(self, owner: object, cls: object = None) -> int:
        return said[0]


class Holder:
    K = Described()


class Pair(NamedTuple):
    a: int
    K = 1


@dataclasses.dataclass(frozen=True)
class Record:
    a: int
    K: ClassVar[int] = 1

    def method(self, tile):
        return tile + self.K

    @property
    def half(self) -> int:
        return self.a + Base.K


@dataclasses.dataclass(frozen=True)
class Made:
    a: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", self.a + Base.K)


@dataclasses.dataclass(frozen=True)
class Defaulted:
    a: int = 1


class Filled(NamedTuple):
    a: int = 1


class Talking:
    """An object that says things of itself."""

    def __init__(self) -> None:
        self.n = 1

    def __len__(self) -> int:
        return self.n

    def __bool__(self) -> bool:
        return self.n == 1

    def __getitem__(self, i: int) -> int:
        return self.n

    def __add__(self, other: int) -> int:
        return self.n + other

    def __eq__(self, other: object) -> bool:
        return self.n == other

    def __hash__(self) -> int:
        return 1

    def __int__(self) -> int:
        return self.n

    def __neg__(self) -> int:
        return -self.n


class Mode(enum.Enum):
    A = 1
    B = 100


def helper(tile, by=1):
    return tile + by


def by_keyword(tile, *, by=1):
    return tile + by


def one(tile):
    return tile + 1


def hundred(tile):
    return tile + 100


def always(x):
    return 100


def wrap(function):
    @functools.wraps(function)
    def wrapped(tile):
        return function(tile)

    return wrapped


@wrap
def decorated(tile, by=1):
    return tile + by


def with_attribute(tile):
    return tile + with_attribute.K


def fresh() -> dict[str, Any]:
    """The names that bodies may read, as they are before anything changes."""
    Defaulted.__init__.__defaults__ = Filled.__new__.__defaults__ = (1,)
    builtins.abs = ABS
    box = {"K": 1}
    Base.K = Base.HIDDEN = Meta.LEVEL = Record.K = Pair.K = with_attribute.K = 1
    Derived.__bases__ = (Base,)
    for name in vars(Derived).keys() & {"K"}:
        delattr(Derived, name)
    Base.of_class = classmethod(lambda cls, tile: tile + cls.K)
    Base.of_nobody = staticmethod(lambda tile: tile + Base.K)
    Record.method = lambda self, tile: tile + self.K
    Outer.Inner = type("Inner", (), {"K": 1})
    said[0] = 1
    helper.__defaults__ = decorated.__wrapped__.__defaults__ = (1,)
    by_keyword.__kwdefaults__ = {"by": 1}
    one.__code__ = ONE
    return {
        **{t.__name__: t for t in (Base, Derived, Outer, Holder, Pair, Record, Made, Mode)},
        **{f.__name__: f for f in (helper, by_keyword, one, decorated, with_attribute)},
        "K": 1, "box": box, "view": types.MappingProxyType(box), "queue": deque([1]),
        "raw": bytearray([1]), "Defaulted": Defaulted, "Filled": Filled, "rows": [[1]],
        "part": functools.partial(helper, by=1),
        "space": types.SimpleNamespace(inner=types.SimpleNamespace(K=1)), "base": Base(),
        "talking": Talking(), "half": Fraction(1, 2), "mode": Mode.A, "pair": Pair(3),
        "record": Record(3), "records": (Record(1), 2), "outer": Record(Record(1)), "lists": ([1],),
        "module": types.ModuleType("module"), "lam": lambda t, by=1: t + by,
        "tl": tl, "tw": tw, "i32": i32,
    }  # fmt: skip


said = [1]
ABS = abs
ONE = one.__code__
HUNDRED = 100


def put(owner: str, name: str, value: Any = HUNDRED) -> Callable[[dict[str, Any]], None]:
    def change(names: dict[str, Any]) -> None:
        target = functools.reduce(getattr, owner.split(".")[1:], names[owner.split(".")[0]])
        setattr(target, name, value)

    return change


def to(name: str, value: Any = HUNDRED) -> Callable[[dict[str, Any]], None]:
    return lambda names: names.__setitem__(name, value)


CLASS = put("Base", "K")
N = put("talking", "n")
WAYS: dict[str, tuple[str, Callable[[dict[str, Any]], None]]] = {
    "global": ("t + K", to("K")),
    "class": ("t + Base.K", CLASS),
    "inherited": ("t + Derived.K", CLASS),
    "shadowed": ("t + Derived.K", put("Derived", "K")),
    "other bases": (
        "t + Derived.K",
        lambda names: setattr(Derived, "__bases__", (type("New", (Base,), {"K": 100}),)),
    ),
    "nested": ("t + Outer.Inner.K", put("Outer.Inner", "K")),
    "nested class": ("t + Outer.Inner.K", put("Outer", "Inner", type("I", (), {"K": 100}))),
    "of the metaclass": ("t + Base.LEVEL", lambda names: setattr(Meta, "LEVEL", 100)),
    "property of the metaclass": ("t + Base.computed", put("Base", "HIDDEN")),
    "method of the metaclass": ("Base.of_meta(t)", CLASS),
    "class method": ("Base.of_class(t)", CLASS),
    "class method, inherited": ("Derived.of_class(t)", put("Derived", "K")),
    "another class method": (
        "Base.of_class(t)", put("Base", "of_class", classmethod(lambda cls, t: t + 100))),
    "static method": ("Base.of_nobody(t)", CLASS),
    "another static method": (
        "Base.of_nobody(t)", put("Base", "of_nobody", staticmethod(hundred))),
    "method": ("base.of_object(t)", put("base", "K")),
    "class attribute of an object": ("t + base.K", CLASS),
    "descriptor": ("t + Holder.K", lambda names: said.__setitem__(0, 100)),
    "class of a NamedTuple": ("t + pair.K", put("Pair", "K")),
    "class of a record": ("t + record.K", put("Record", "K")),
    "method of a record": ("record.method(t)", put("Record", "K")),
    "another method of a record": (
        "record.method(t)", put("Record", "method", lambda self, t: t + 100)),
    "property of a record": ("t + record.half - 3", CLASS),
    "field of a record": (
        "t + record.a - 2", lambda names: object.__setattr__(names["record"], "a", 102)),
    "field of a record in a tuple": (
        "t + records[0].a", lambda names: object.__setattr__(names["records"][0], "a", 100)),
    "field of a record in a record": (
        "t + outer.a.a", lambda names: object.__setattr__(names["outer"].a, "a", 100)),
    "list in a tuple": ("t + lists[0][0]", lambda names: names["lists"][0].__setitem__(0, 100)),
    "another function of a partial": (
        "part(t)", lambda names: names["part"].__setstate__((hundred, (), {}, None))),
    "record made by code": ("t + Made(0).a", CLASS),
    "defaults": ("helper(t)", put("helper", "__defaults__", (100,))),
    "defaults of a lambda": ("lam(t)", put("lam", "__defaults__", (100,))),
    "defaults of what is decorated": (
        "decorated(t)", put("decorated.__wrapped__", "__defaults__", (100,))),
    "defaults by keyword": ("by_keyword(t)", put("by_keyword", "__kwdefaults__", {"by": 100})),
    "defaults by keyword, in place": (
        "by_keyword(t)", lambda names: by_keyword.__kwdefaults__.update(by=100)),
    "code": ("one(t)", put("one", "__code__", hundred.__code__)),
    "mapped function": (
        "tuple(map(helper, (t,)))[0]", put("helper", "__defaults__", (100,))),
    "attribute of a function": ("with_attribute(t)", put("with_attribute", "K")),
    "partial, in place": ("part(t)", lambda names: names["part"].keywords.update(by=100)),
    "object in an object": ("t + space.inner.K", put("space.inner", "K")),
    "dict": ("t + box['K']", lambda names: names["box"].update(K=100)),
    "list in a list": ("t + rows[0][0]", lambda names: names["rows"][0].__setitem__(0, 100)),
    "length": ("t + len(talking)", N),
    "item": ("t + talking[0]", N),
    "truth": ("t + (1 if talking else 100)", N),
    "negation of truth": ("t + (100 if not talking else 1)", N),
    "sum": ("t + (talking + 0)", N),
    "sign": ("t - (-talking)", N),
    "equality": ("t + (1 if talking == 1 else 100)", N),
    "conversion": ("t + int(talking)", N),
    "deque": ("t + queue[0]", lambda names: names["queue"].__setitem__(0, 100)),
    "items of a deque": ("t + max(queue)", lambda names: names["queue"].append(100)),
    "bytes": ("t + raw[0]", lambda names: names["raw"].__setitem__(0, 100)),
    "view of a dict": ("t + view['K']", lambda names: names["box"].update(K=100)),
    "defaults of a record": (
        "t + Defaulted().a", lambda names: setattr(Defaulted.__init__, "__defaults__", (100,))),
    "defaults of a NamedTuple": (
        "t + Filled().a", lambda names: setattr(Filled.__new__, "__defaults__", (100,))),
    "name of a builtin": ("t + len((1,))", to("len", always)),
    "builtin": ("t + abs(-1)", lambda names: setattr(builtins, "abs", always)),
    "fraction": ("t + int(half * 2)", to("half", Fraction(50))),
    "enum": ("t + mode.value", to("mode", Mode.B)),
}  # fmt: skip

TEXT = """
@tw.entry
def kernel(z: tl.TensorMut[i32]) -> None:
    t = z.load()
    z.store({body})
"""


QUICK = (
    "class", "method", "class method", "defaults", "defaults by keyword, in place", "code",
    "partial, in place", "another function of a partial", "field of a record", "length",
    "name of a builtin", "builtin", "deque",
)  # fmt: skip
"""Each kind of watch, as native code has it."""


@pytest.mark.parametrize(
    ("device", "way"),
    [*(("reference", way) for way in WAYS), *(("cpu", way) for way in QUICK)],
)
def test_a_change_is_seen_by_the_next_launch(device, way):
    body, change = WAYS[way]
    names = fresh()
    kernel = tw.exec(TEXT.format(body=body), names)["kernel"]
    before = WARM if device == "cpu" else 2
    with tw.device(device):
        z = tw.zeros((1,), i32).sync()
        for _ in range(before):
            kernel(z.partition_mut((1,))).sync()
        assert z.item() == before
        assert len(kernel.explain_recompile().splitlines()) == 1, "nothing has changed"
        change(names)
        for _ in range(before):
            kernel(z.partition_mut((1,))).sync()
    assert z.item() == 101 * before
    assert len(kernel.explain_recompile().splitlines()) == 2
    fresh()


def test_what_is_given_makes_defaults_not_matter():
    names = fresh()
    kernel = tw.exec(TEXT.format(body="helper(t, 1)"), names)["kernel"]
    z = tw.zeros((1,), i32).sync()
    for by in (1, 100):
        helper.__defaults__ = (by,)
        kernel(z.partition_mut((1,))).sync()
    assert z.item() == 2
    assert len(kernel.explain_recompile().splitlines()) == 1
    fresh()


def test_the_reason_names_what_has_changed():
    names = fresh()
    kernel = tw.exec(TEXT.format(body="one(t) + Base.K"), names)["kernel"]
    z = tw.zeros((1,), i32).sync()
    for change in (lambda: None, lambda: setattr(Base, "K", 2),
                   lambda: setattr(one, "__code__", hundred.__code__)):  # fmt: skip
        change()
        kernel(z.partition_mut((1,))).sync()
    text = kernel.explain_recompile()
    assert "`K`, which it captured, has changed" in text
    assert "`one.__code__`, which it captured, has changed" in text
    fresh()
