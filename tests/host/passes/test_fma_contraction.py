"""Contraction: what becomes one fused multiply-add, and what must keep two roundings."""

from __future__ import annotations

import random

import numpy as np
import pytest

from ir_text import apply, expect, kernel, parse, unchanged
from support.ir import Kernel, checked
from tilewright.backend.reference.interpreter import run
from tilewright.base.dtypes import f32
from tilewright.passes.fma_contraction import fma_contraction


@pytest.mark.parametrize(
    ("op", "fused"),
    [
        ("addf %p1, %h", "%2 = fma %f, %g, %h"),
        ("addf %h, %p1", "%2 = fma %f, %g, %h"),
        ("subf %p1, %h", "%1 = negf %h\n%2 = fma %f, %g, %1"),
        ("subf %h, %p1", "%1 = negf %f\n%2 = fma %1, %g, %h"),
    ],
)
def test_a_product_used_once_is_fused(op, fused):
    expect(
        fma_contraction,
        f"%p1 = mulf %f, %g\n%r = {op}\nprint %r\nreturn",
        f"{fused}\nprint %2\nreturn",
    )


def test_of_two_products_the_left_one_is_taken():
    expect(
        fma_contraction,
        """
        %a = mulf %f, %g
        %b = mulf %g, %h
        %r = addf %a, %b
        print %r
        return
        """,
        """
        %b = mulf %g, %h
        %2 = fma %f, %g, %b
        print %2
        return
        """,
    )


def test_a_chain_of_sums_fuses_each_product():
    expect(
        fma_contraction,
        """
        %a = mulf %f, %g
        %s1 = addf %a, %h
        %b = mulf %g, %h
        %r = addf %s1, %b
        print %r
        return
        """,
        """
        %1 = fma %f, %g, %h
        %2 = fma %g, %h, %1
        print %2
        return
        """,
    )


def test_inside_a_combiner():
    expect(
        fma_contraction,
        """
        %i = iota {size=4, dtype=i32}
        %a = itof %i {to=f32}
        %r = reduce %a {identities=(0.0)} { (%e: tile<f32>, %acc: tile<f32>)
          %b = mulf %e, %e
          %t = addf %acc, %b
          yield %t
        }
        print %r
        return
        """,
        """
        %i = iota {size=4, dtype=i32}
        %a = itof %i {to=f32}
        %r = reduce %a {identities=(0.0)} { (%e: tile<f32>, %acc: tile<f32>)
          %5 = fma %e, %e, %acc
          yield %5
        }
        print %r
        return
        """,
    )


@pytest.mark.parametrize(
    ("product", "total"),
    [
        ("mulf %f, %g {ftz=True}", "addf %p1, %h"),
        ("mulf %f, %g", "addf %p1, %h {ftz=True}"),
        ("mulf %f, %g {rounding=zero}", "addf %p1, %h"),
        ("mulf %f, %g", "addf %p1, %h {rounding=pos_inf}"),
        ("divf %f, %g", "addf %p1, %h"),
        ("mulf %f, %g", "addf %p1, %p1"),
        ("mulf %f, %g", "mulf %p1, %h"),
    ],
)
def test_what_rounds_otherwise_or_is_used_twice_stays(product, total):
    unchanged(fma_contraction, f"%p1 = {product}\n%r = {total}\nprint %r\nreturn")


def test_a_product_used_elsewhere_too_stays():
    unchanged(fma_contraction, "%p1 = mulf %f, %g\n%r = addf %p1, %h\nprint %r, %p1\nreturn")


def test_a_product_of_another_block_stays():
    unchanged(
        fma_contraction,
        """
        %p1 = mulf %f, %g
        if %c {
          %r = addf %p1, %h
          print %r
          yield
        } else {
          yield
        }
        return
        """,
    )


@pytest.mark.parametrize(("dtype", "fuses"), [("f16", 0), ("bf16", 0), ("f32", 1), ("f64", 1)])
def test_only_f32_and_f64(dtype, fuses):
    text = apply(
        fma_contraction,
        f"""
        kernel test(%a: tile<8x{dtype}>, %b: tile<8x{dtype}>) {{
          %p = mulf %a, %b
          %r = addf %p, %a
          print %r
          return
        }}
        """,
    )
    assert text.count("fma") == fuses


def test_where_nothing_rounds_fusing_changes_nothing():
    seed = random.randrange(2**31)
    print(f"programs from seed {seed}")
    for i in range(40):
        rng = random.Random(seed + i)
        k = Kernel()
        x, z = k.tensor("x", f32, 1), k.output("z", f32, 1)
        tiles = [k.load(x, (4,), j) for j in range(4)]
        for _ in range(6):
            name = rng.choice(("mulf", "mulf", "addf", "subf", "negf"))
            operands = [rng.choice(tiles[-4:]) for _ in range(1 if name == "negf" else 2)]
            tiles.append(k.emit(name, *operands))
        k.store(tiles[-1], z, 0)
        func = k.finish()
        # Small integers: no product or sum of the few steps above needs more than 24 bits.
        numbers = np.random.default_rng(seed + i).integers(-2, 3, 16).astype(np.float32)
        outputs = [np.full(4, np.nan, np.float32) for _ in range(2)]
        checked(func, [numbers, outputs[0]])
        checked(fma_contraction(func), [numbers, outputs[1]])
        assert outputs[0].tolist() == outputs[1].tolist()


def test_a_fused_product_rounds_once():
    func = parse(kernel("%p1 = mulf %f, %g\n%r = addf %p1, %h\nprint %r\nreturn"))
    a = np.float32(1 + 2.0**-12)
    exact = float(a) * float(a) - 1.0
    plain, fused = (
        float(run(f, (a, a, np.float32(-1)), (1, 1, 1)).printed[0].values[0])
        for f in (func, fma_contraction(func))
    )
    assert fused == exact
    assert plain != exact
