"""Loops made of unrolled copies: which copies are iterations, and that they mean the same."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from ir_text import expect, kernel, parse, unchanged
from support import tiers
from support.ir import checked
from support.numbers import fresh_rng, fresh_seed
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import f16, f32, i32
from tilewright.frontend.interp.build import build
from tilewright.ir.core import Func
from tilewright.ir.ops.control import FOR
from tilewright.ir.ops.matmul import MMAF
from tilewright.ir.printer import print_func
from tilewright.ir.verify import verify
from tilewright.launch.inspection import Inspection
from tilewright.passes import reroll_loops as module
from tilewright.passes.reroll_loops import reroll_loops


@pytest.fixture
def sizes_matter():
    """Leave the limits as they are."""


@pytest.fixture(autouse=True)
def any_size(request, monkeypatch):
    """Make loops of small code too."""
    if "sizes_matter" not in request.fixturenames:
        monkeypatch.setattr(module, "LARGEST_UNROLLED", 0)
        monkeypatch.setattr(module, "FEWEST_IN_ALL", 3)


def lines(text: str, count: int, **numbers) -> str:
    """So many copies of a text; `{name}` is a function of the number of the copy."""
    copies = [
        text.format(k=k, after=k + 1, **{name: rule(k) for name, rule in numbers.items()})
        for k in range(count)
    ]
    return "\n".join(copies)


COPY = """
%c{k} = constant {{value={value}, dtype=i32}}
%t{k} = muli %n, %c{k}
%a{after} = addi %a{k}, %t{k}
"""
ONE = "%one = constant {value=1, dtype=i32}\n"
START = "%a0 = constant {value=7, dtype=i32}\n"


def test_copies_become_iterations():
    expect(
        reroll_loops,
        START + lines(COPY, 4, value=lambda k: 10 - 3 * k) + "print %a4\nreturn",
        """
        %a = constant {value=7, dtype=i32}
        %low = constant {dtype=i32}
        %high = constant {value=4, dtype=i32}
        %one = constant {value=1, dtype=i32}
        %r = for %low, %high, %one, %a {rerolled=4} { (%i: tile<i32>, %s: tile<i32>)
          %first = constant {value=10, dtype=i32}
          %step = constant {value=-3, dtype=i32}
          %moved = muli %i, %step
          %c = addi %moved, %first
          %t = muli %n, %c
          %next = addi %s, %t
          continue %next
        }
        print %r
        return
        """,
    )


def loops(text: str) -> list[int]:
    """The loops that become of a body: how many copies each had, outer ones first."""
    func = reroll_loops(parse(kernel(text)))
    verify(func, "reroll_loops")
    return [op.attrs["rerolled"] for op in func.walk() if op.is_a(FOR) and op.attrs["rerolled"]]


def body(copy: str = COPY, count: int = 4, end: str = "print %a4", **numbers) -> str:
    numbers = {"value": lambda k: 5, **numbers}
    return START + lines(copy, count, **numbers) + f"\n{end}\nreturn"


@pytest.mark.parametrize("count", [3, 4, 9])
def test_equal_constants_stay(count):
    assert loops(body(count=count, end=f"print %a{count}")) == [count]


def test_two_copies_stay():
    unchanged(reroll_loops, body(count=2, end="print %a2"))


def test_rows_become_two_loops():
    """Constants of a square: one grows along its rows, the other along its columns."""
    text = (
        COPY + "%d{k} = constant {{value={row}, dtype=i32}}\n%e{k} = addi %t{k}, %d{k}\nprint %e{k}"
    )
    found = body(text, 12, "print %a12", value=lambda k: k % 4, row=lambda k: 100 - 7 * (k // 4))
    assert loops(found) == [12, 4]


def test_what_does_not_grow_evenly_is_a_row_and_a_rest():
    assert loops(body(count=7, end="print %a7", value=lambda k: min(k, 4))) == [5]
    assert loops(body(value=lambda k: k * k)) == []


@pytest.mark.parametrize(
    "copy",
    [
        "%b{k} = constant {{value={value}.0, dtype=f32}}\nprint %b{k}\n",
        "%b{k} = constant {{value={value}, dtype=i64}}\nprint %b{k}\n",
        "%b{k} = iota {{size={size}, dtype=i32}}\nprint %b{k}\n",
    ],
)
def test_other_attributes_must_be_equal(copy):
    same, grown = ({"value": rule, "size": lambda k, rule=rule: 1 << rule(k)}
                   for rule in (lambda k: 2, lambda k: k))  # fmt: skip
    assert loops(body(copy, end="", **same)) == [4]
    assert loops(body(copy, end="", **grown)) == []


def test_only_the_last_of_the_carried_values_is_used_later():
    assert loops(body(end="print %a4")) == [4]
    assert loops(body(end="print %a3")) == []
    assert loops(body(end="print %t3")) == [], "it is not carried"
    assert loops(body(end="print %a0")) == [4], "the initial value is from outside"


def test_an_operand_of_the_copy_before_the_last_ends_the_run():
    text = COPY.replace("addi %a{k}", "addi %a{k}") + "%f{k} = addi %t{k}, %{far}\n"
    assert loops(body(text, far=lambda k: "n" if k < 2 else f"t{k - 2}")) == []


def test_values_from_outside_must_be_the_same():
    text = COPY.replace("%n", "%{given}")
    assert loops(body(text, given=lambda k: "n")) == [4]
    assert loops(body(text, given=lambda k: "nm"[k % 2])) == []
    assert loops(body(text, count=6, end="print %a6", given=lambda k: "nm"[k >= 3])) == [3, 3]


def test_an_initial_value_may_be_used_in_all_copies_too():
    """And two carried values may begin with the same one."""
    text = COPY + "%b{after} = subi %{b}, %t{k}\n%s{k} = addi %b{after}, %a0\nprint %s{k}\n"
    found = body(text, b=lambda k: "a0" if not k else f"b{k}", end="print %a4, %b4")
    func = parse(kernel(found))
    after = reroll_loops(func)
    assert [op.attrs["rerolled"] for op in after.walk() if op.is_a(FOR)] == [4]
    assert printed(after, 3) == printed(func, 3)


@pytest.mark.parametrize(
    ("inside", "expected"), [("print %n\n  yield", [4]), ("return", []), ("continue", [])]
)
def test_no_copy_leaves_what_is_around_it(inside, expected):
    branch = f"if %c {{{{\n  {inside}\n}}}} else {{{{\n  yield\n}}}}\n"
    found = START + lines(COPY + branch, 4, value=lambda k: k) + "\nprint %a4\n"
    if inside == "continue":
        found = f"{ONE}for %n, %m, %one {{ (%i: tile<i32>)\n{found}continue\n}}\n"
    assert loops(found + "return") == expected


def test_copies_may_have_regions():
    arm = "  %x{k} = addi %a{after}, %c{k}\n  print %x{k}\n  yield\n"
    text = f"{COPY}if %c {{{{\n{arm}}}}} else {{{{\n  yield\n}}}}\n"
    func = parse(kernel(body(text, value=lambda k: 3 * k)))
    after = reroll_loops(func)
    assert [op.attrs["rerolled"] for op in after.walk() if op.is_a(FOR)] == [4]
    assert printed(after, 2, True) == printed(func, 2, True) != printed(func, 2, False)


def test_views_are_not_carried():
    text = (
        "%v{after} = make_view %x {{tile=(4), dim_map=(0)}}\n"
        "%l{k} = load_view %v{k}, %n\n"
        "print %l{k}"
    )
    found = "%v0 = make_view %x {tile=(4), dim_map=(0)}\n" + lines(text, 4) + "\nreturn"
    assert loops(found) == []


# --- meaning --------------------------------------------------------------------------------------


def printed(func: Func, *numbers: object) -> list[object]:
    shown = run(func, numbers, (1, 1, 1)).printed
    return [[v.tolist() for v in record.values] for record in shown]


def drawn(rng: Random) -> str:
    """Some copies of random statements about carried and other values."""
    names = dict.fromkeys("abc", "n")
    statements = []
    for _ in range(rng.randint(2, 5)):
        left, op, right = (
            rng.choice("abcx"),
            rng.choice(("addi", "subi", "muli")),
            rng.choice("abcxnm"),
        )
        statements.append((rng.choice("abcx"), left, op, right))
    first, step, wide = rng.randint(-5, 5), rng.randint(-3, 3), rng.randint(2, 6)
    text, count, shown = [], rng.randint(3, 14), rng.random() < 0.3
    for k in range(count):
        value = first + step * (k % wide if rng.random() < 0.97 else 9) + 50 * (k // wide)
        text.append(f"%k{k} = constant {{value={value}, dtype=i32}}")
        names["x"] = f"k{k}"
        for j, (target, left, op, right) in enumerate(statements):
            made = f"{target}_{k}_{j}"
            text.append(f"%{made} = {op} %{names[left]}, %{names.get(right, right)}")
            names[target] = made
        if shown:
            text.append(f"print %{names['a']}")
    kept = [names[name] for name in "abc" if rng.random() < 0.8] or ["n"]
    return "\n".join([*text, *(f"print %{name}" for name in kept), "return"])


def test_random_copies_mean_the_same():
    made, first = 0, fresh_seed() % 10**6
    for seed in range(first, first + tiers.count(quick=150, full=3000)):
        func = parse(kernel(drawn(Random(seed)), ["n", "m"]))
        before = print_func(func)
        after = reroll_loops(func)
        verify(after, "reroll_loops")
        assert print_func(func) == before, "the pass changed its input"
        assert printed(after, 3, -2) == printed(func, 3, -2), f"seed {seed}\n{before}"
        made += any(op.is_a(FOR) for op in after.walk())
    assert made > 10


@tw.entry
def taps(
    z: tl.TensorMut[f32], x: tl.Tensor[f32, tl.Dyn, tl.Dyn], w: tl.Tensor[f32, tl.Dyn, tl.Dyn],
    n: i32, *, K: tl.Const[int],
) -> None:  # fmt: skip
    """Rows of x that are K * K times gathered around a place, times one tile of weights each."""
    view = tl.make_gather_scatter_view(x, (8, 8), 0, padding=0)
    acc, most = tl.zeros((8, 8), f32), tl.zeros((8, 8), f32)
    row = tl.arange(8)
    for i in tl.static_range(K):
        for j in tl.static_range(K):
            at = row + (i - 1) * n + (j - K // 2)
            pixels = view.load([tl.where((at >= 0) & (at < 40), at, -1), 0])
            acc = tl.mma(pixels, w.load_tile((8, 8), [i * K + j, 0]), acc)
            most = tl.maximum(most, pixels)
    z.store(acc + most)


def frontend(**constants: object) -> Func:
    k = int(str(constants["K"]))
    z, x, w = tw.meta((8, 8)).partition_mut((8, 8)), tw.meta((40, 8)), tw.meta((8 * k * k, 8))
    return build(taps.source, Inspection(taps.kernel, (z, x, w, 5), constants).signature)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_a_convolution_means_the_same(k):
    func = frontend(K=k)
    after = reroll_loops(func)
    verify(after, "reroll_loops")
    assert sum(op.is_a(MMAF) for op in after.walk()) == (1 if k > 2 else 4)
    rng = fresh_rng()
    x, w = (rng.standard_normal(s, np.float32) for s in ((40, 8), (8 * k * k, 8)))
    ours, theirs = (np.full((8, 8), np.nan, np.float32) for _ in range(2))
    checked(func, [theirs, x, w, 5])
    checked(after, [ours, x, w, 5])
    np.testing.assert_array_equal(ours, theirs)


# --- size -----------------------------------------------------------------------------------------


def test_code_of_moderate_size_stays_as_it_was_written(sizes_matter):
    func = frontend(K=4)
    assert reroll_loops(func) is func
    text = "%t{after} = mulf %t{k}, %t{k}\n"
    for size, count, expected in ((64, 64, []), (1024, 500, []), (1024, 520, [520]), (4096, 7, [])):
        start = f"%t0 = constant {{value=1.0, dtype=f32, shape=({size})}}\n"
        found = start + lines(text, count) + f"\nprint %t{count}\nreturn"
        assert loops(found) == expected, (size, count)


@tw.entry
def plain(z: tl.TensorMut[f16]) -> None:
    z.store(tl.zeros(z.shape, f16))


def test_a_kernel_without_copies_is_what_it_was():
    z = tw.meta((8,), f16).partition_mut((8,))
    func = build(plain.source, Inspection(plain.kernel, (z,), {}).signature)
    assert reroll_loops(func) is func
