"""How a random kernel goes on: each rule adds a line or two, or nothing where it does not apply."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from fuzz.wild.author import ALL, FLOATS, INTEGERS, LIMIT, TINY, Author, Shape, Var, joined
from fuzz.wild.program import LAYOUTS, SMALL
from tilewright.base.dtypes import AnyDType, bool_, f32, f64, i8, i32, int_range, u8

Rule = Callable[[Author], None]


def is_number(v: Var) -> bool:
    """Whether there is arithmetic on it."""
    return v.dtype in FLOATS or v.dtype in INTEGERS


def is_int(v: Var) -> bool:
    return v.dtype in INTEGERS


def is_float(v: Var) -> bool:
    return v.dtype in FLOATS


def is_bool(v: Var) -> bool:
    return v.dtype is bool_


def anything(v: Var) -> bool:
    return True


# --- elementwise ---------------------------------------------------------------------------------

BOUNDS: dict[str, Callable[[float, float], float]] = {
    "{0} + {1}": lambda a, b: a + b,
    "{0} - {1}": lambda a, b: a + b,
    "{0} * {1}": lambda a, b: a * b,
}
OF_NUMBERS = (*BOUNDS, "tl.maximum({0}, {1})", "tl.minimum({0}, {1})", "tl.max_tile({0}, {1})")
OF_INTS = (
    "{0} & {1}", "{0} | {1}", "{0} ^ {1}", "{0} << {1}", "{0} >> {1}", "{0} // {1}", "{0} % {1}",
    "tl.mulhii({0}, {1})", "tl.remi({0}, {1})", "tl.divi({0}, {1})", "tl.ceil_div({0}, {1})",
    "tl.divi({0}, {1}, rounding=tl.Rounding.NEG_INF)", "divmod({0}, {1})[1]",
    "tl.divi({0}, {1}, rounding=tl.Rounding.POS_INF)", "({0} | 1) // ({1} << {0})",
)  # fmt: skip
SHIFTS = ("<<", ">>")
OF_BOOLS = ("{0} & {1}", "{0} | {1}", "{0} ^ {1}", "{0} == {1}", "{0} != {1}")
COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")


def _two(a: Author, accepts: Callable[[Var], bool]) -> tuple[Var, Var] | None:
    x = a.pick(accepts)
    y = None if x is None else a.pick(lambda v: v.dtype is x.dtype and v.fits(x))
    return None if x is None or y is None else (x, y)


def _binary(a: Author, forms: tuple[str, ...], accepts: Callable[[Var], bool]) -> None:
    found = _two(a, accepts)
    if found is None:
        return
    x, y = found
    form, right, bound = a.rng.choice(forms), y.name, y.bound
    shape = joined(x.shape, y.shape)
    assert shape is not None
    if a.chance(0.25) and not is_bool(x):
        right, bound = a.constant(x.dtype)
        shape = x.shape
        if right.startswith("-") and any(s in form for s in SHIFTS):
            return
        right = f"({right})"
    total = BOUNDS.get(form, max)(x.bound, bound)
    a.make(form.format(x.name, right), x.dtype, shape, total)


def compare(a: Author) -> None:
    found = _two(a, is_number)
    if found is not None:
        x, y = found
        shape = joined(x.shape, y.shape)
        assert shape is not None
        a.make(f"{x.name} {a.rng.choice(COMPARISONS)} {y.name}", bool_, shape)


def choose(a: Author) -> None:
    cond = a.pick(is_bool)
    found = None if cond is None else _two(a, lambda v: v.fits(cond))
    if cond is None or found is None:
        return
    x, y = found
    both = joined(x.shape, y.shape)
    shape = None if both is None else joined(both, cond.shape)
    if shape is not None:
        word = a.rng.choice(["where", "select"])
        a.make(f"tl.{word}({cond.name}, {x.name}, {y.name})", x.dtype, shape, max(x.bound, y.bound))


def unary(a: Author) -> None:
    x = a.pick(lambda v: v.dtype not in TINY)
    if x is None:
        return
    forms = ["-{0}", "abs({0})", "tl.floor({0})", "tl.ceil({0})", "tl.round({0})"]
    if is_bool(x):
        forms = ["~{0}"]
    elif is_int(x):
        forms = ["~{0}", "-{0}", "abs({0})"] if x.dtype.is_signed else ["~{0}"]
    a.make(a.rng.choice(forms).format(x.name), x.dtype, x.shape, x.bound)


def constant(a: Author) -> None:
    like = a.pick(anything)
    if like is None:
        return
    dtype = a.rng.choice([*INTEGERS, *FLOATS, bool_])
    value, bound = a.constant(dtype)
    if a.chance(0.3) and dtype in INTEGERS:
        count = min(like.size, 64)
        a.make(f"tl.arange({count}, dtype={dtype.__name__})", dtype, (count,))
        return
    a.make(f"tl.full({like.shape}, {value}, {dtype.__name__})", dtype, like.shape, bound)


def clamp(a: Author) -> None:
    x = a.pick(is_number)
    if x is not None:
        low, high = sorted(a.rng.randint(0, 7) for _ in range(2))
        ends = (float(low), float(high)) if is_float(x) else (low, high)
        a.make(f"tl.clamp({x.name}, {ends[0]}, {ends[1]})", x.dtype, x.shape, max(x.bound, high))


# --- conversions ---------------------------------------------------------------------------------


def convert(a: Author) -> None:
    x = a.pick(anything)
    if x is None:
        return
    to = a.rng.choice([*INTEGERS, *FLOATS, *TINY])
    text, bound = x.name, x.bound
    if is_int(x) and to not in INTEGERS:
        text, bound = f"({x.name} & 7)", 7.0
    elif is_bool(x):
        bound = 1.0
    elif not is_int(x) and to in INTEGERS and x.bound > int_range(to)[1]:
        return
    if to is not x.dtype and not (is_bool(x) and to in TINY):
        a.make(f"{text}.astype({to.__name__})", to, x.shape, bound)


def bits(a: Author) -> None:
    x = a.pick(lambda v: v.dtype is not bool_)
    if x is not None:
        same = [d for d in INTEGERS if d.bits == x.dtype.bits and d is not x.dtype]
        to = a.rng.choice(same)
        a.make(f"tl.bitcast({x.name}, {to.__name__})", to, x.shape)


# --- layout --------------------------------------------------------------------------------------


def reshape(a: Author) -> None:
    x = a.pick(anything)
    if x is not None:
        shape = a.shape_of(x.size, a.rng.randint(1, 4))
        a.make(f"{x.name}.reshape({', '.join(map(str, shape))})", x.dtype, shape, x.bound)


def permute(a: Author) -> None:
    x = a.pick(lambda v: len(v.shape) > 1)
    if x is not None:
        order = a.rng.sample(range(len(x.shape)), len(x.shape))
        shape = tuple(x.shape[k] for k in order)
        a.make(f"tl.permute({x.name}, {tuple(order)})", x.dtype, shape, x.bound)


def broadcast(a: Author) -> None:
    x = a.pick(lambda v: 1 in v.shape or len(v.shape) < 3)
    if x is not None:
        shape = tuple(a.rng.choice([1, 2, 4]) if n == 1 else n for n in x.shape)
        front = (a.rng.choice([1, 2]),) if len(shape) < 4 and a.chance(0.5) else ()
        a.make(f"tl.broadcast({x.name}, {front + shape})", x.dtype, front + shape, x.bound)


def cat(a: Author) -> None:
    x = a.pick(lambda v: bool(v.shape))
    y = None if x is None else a.pick(lambda v: (v.dtype, v.shape) == (x.dtype, x.shape))
    if x is not None and y is not None:
        axis = a.rng.randrange(len(x.shape))
        shape = tuple(2 * n if k == axis else n for k, n in enumerate(x.shape))
        bound = max(x.bound, y.bound)
        a.make(f"tl.cat({x.name}, {y.name}, {axis})", x.dtype, shape, bound)


def extract(a: Author) -> None:
    x = a.pick(lambda v: v.size > 1)
    if x is not None:
        shape = tuple(a.rng.choice([n, max(n // 2, 1), 1]) for n in x.shape)
        counts = [n // m for n, m in zip(x.shape, shape, strict=True)]
        index = ", ".join(str(a.rng.randrange(c)) for c in counts)
        a.make(f"tl.extract({x.name}, [{index}], {shape})", x.dtype, shape, x.bound)


# --- reductions, products ------------------------------------------------------------------------

COMBINERS: dict[str, tuple[str, Callable[[AnyDType], str]]] = {
    "sum": ("p + q", lambda d: "0.0" if d in FLOATS else "0"),
    "max": ("tl.maximum(p, q)", lambda d: "tl.neg_inf" if d in FLOATS else str(int_range(d)[0])),
    "min": ("tl.minimum(p, q)", lambda d: "tl.pos_inf" if d in FLOATS else str(int_range(d)[1])),
}  # fmt: skip


def reduce(a: Author) -> None:
    x = a.pick(lambda v: bool(v.shape) and v.dtype not in TINY)
    if x is None:
        return
    axis, keep = a.rng.randrange(len(x.shape)), a.chance(0.6)
    left = tuple(1 if k == axis else n for k, n in enumerate(x.shape) if keep or k != axis)
    word = a.rng.choice(["sum", "max", "min", "prod", "any", "all", "argmax", "argmin", "own"])
    if is_bool(x) and word not in ("sum", "any", "all"):
        word = "any"
    if word == "prod" and is_float(x):
        word = "max"
    if word == "own":
        _own_reduction(a, x, axis, left, keep)
        return
    long = word if word.startswith("a") else f"reduce_{word}"
    to = {"any": bool_, "all": bool_, "argmax": i32, "argmin": i32}.get(word, x.dtype)
    to = i32 if word == "sum" and is_bool(x) else to
    bound = x.bound * x.shape[axis] if word == "sum" else x.bound
    a.make(f"tl.{long}({x.name}, {axis}, keepdims={keep})", to, left, bound)


def _own_reduction(a: Author, x: Var, axis: int, left: Shape, keep: bool) -> None:
    name = a.rng.choice(list(COMBINERS))
    body, neutral = COMBINERS[name]
    bound = x.bound * x.shape[axis] if name == "sum" else x.bound
    text = f"tl.reduce({x.name}, {axis}, {neutral(x.dtype)}, lambda p, q: {body}, keepdims={keep})"
    a.make(text, x.dtype, left, bound)


def scan(a: Author) -> None:
    x = a.pick(lambda v: bool(v.shape) and is_number(v))
    if x is None:
        return
    axis, back = a.rng.randrange(len(x.shape)), a.chance(0.5)
    if a.chance(0.5):
        bound = x.bound * x.shape[axis]
        a.make(f"tl.scan_sum({x.name}, {axis}, reverse={back})", x.dtype, x.shape, bound)
        return
    name = a.rng.choice(list(COMBINERS))
    body, neutral = COMBINERS[name]
    bound = x.bound * x.shape[axis] if name == "sum" else x.bound
    text = f"tl.scan({x.name}, {axis}, {neutral(x.dtype)}, lambda p, q: {body}, reverse={back})"
    a.make(text, x.dtype, x.shape, bound)


FACTORS = (i8, u8, *FLOATS, *TINY)


def product(a: Author) -> None:
    x = a.pick(lambda v: v.dtype in FACTORS)
    y = None if x is None else a.pick(lambda v: v.dtype is x.dtype)
    if x is None or y is None:
        return
    k = 1 << a.rng.randrange(min(x.size, y.size).bit_length())
    m, n = x.size // k, y.size // k
    to = i32 if is_int(x) else f64 if x.dtype is f64 else f32
    left, right = f"{x.name}.reshape({m}, {k})", f"{y.name}.reshape({k}, {n})"
    bound = x.bound * y.bound * k
    if a.chance(0.5):
        a.make(f"{left} @ {right}", to, (m, n), bound)
        return
    one = "1.0" if to is not i32 else "1"
    text = f"tl.mma({left}, {right}, tl.full(({m}, {n}), {one}, {to.__name__}))"
    a.make(text, to, (m, n), bound + 1)


# --- memory --------------------------------------------------------------------------------------


def load(a: Author) -> None:
    """A tile of an array of its own, at some index."""
    dtype, rank = a.rng.choice(ALL), a.rng.randint(1, 3)
    tile = a.shape_of(1 << a.rng.randint(0, 6), rank)
    shape = tuple(max(1, a.rng.choice([n, n - 1, n + 1, 2 * n, 3 * n + 1])) for n in tile)
    x, bound = a.new_input(dtype, shape, LAYOUTS), SMALL if dtype.is_float else 0.0
    view = f"{x}_p"
    padding = a.rng.choice(["", "", ", padding=3" if is_int(Var("", dtype, ())) else ""])
    if is_float(Var("", dtype, ())) and a.chance(0.3):
        padding = ", padding=2.0"
    a.line(f"{view} = {x}.partition({tile}{padding})")
    index = ", ".join(a.index(view, k) for k in range(rank))
    a.make(f"{view}.load([{index}])", dtype, tile, float(bound))


def walk(a: Author) -> None:
    """The sum of all tiles of an array along its first axis."""
    dtype = a.rng.choice([*INTEGERS, *FLOATS])
    tile = a.shape_of(1 << a.rng.randint(0, 5), a.rng.randint(1, 2))
    shape = (a.rng.randint(1, 3 * tile[0] + 1), *tile[1:])
    x = a.new_input(dtype, shape, LAYOUTS)
    bound = float(SMALL * 4) if dtype in FLOATS else 0.0
    if bound > LIMIT.get(dtype, bound):
        return
    made, at = a.fresh(), a.fresh()
    a.line(f"{x}_p = {x}.partition({tile})")
    zero = "0.0" if dtype in FLOATS else "0"
    a.line(f"{made} = tl.full({tile}, {zero}, {dtype.__name__})")
    rest = "".join(", 0" for _ in tile[1:])
    a.line(f"for j{at} in range(tl.num_tiles({x}_p, 0)):")
    a.line(f"    {made} = {made} + {x}_p.load([j{at}{rest}])")
    a.scopes[-1].append(Var(made, dtype, tile, bound))


def call(a: Author) -> None:
    """A function of the kernel's file."""
    x = a.pick(is_int)
    if x is not None:
        name = f"h{len(a.helpers)}"
        times = a.rng.randint(0, 3)
        a.helpers.append(f"def {name}(t):\n    return t * {times} + (t ^ 1)\n")
        a.make(f"{name}({x.name})", x.dtype, x.shape)


SIMPLE: tuple[Rule, ...] = (
    partial(_binary, forms=OF_NUMBERS, accepts=is_number),
    partial(_binary, forms=OF_INTS, accepts=is_int),
    partial(_binary, forms=OF_INTS, accepts=is_int),
    partial(_binary, forms=OF_BOOLS, accepts=is_bool),
    compare, choose, unary, constant, clamp, convert, convert, bits, reshape, permute, broadcast,
    cat, extract, reduce, reduce, scan, product, load, walk, call,
)  # fmt: skip
