"""Random expressions: functions as far off as the analysis allows change no rounded result much.

Each is computed twice in f64, exactly and with errors in all functions that have a tolerance.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import tilewright as tw
import tilewright.lang as tl
from support import tiers
from tilewright import bf16, f16, f32
from tilewright.analysis import needed_precision as analysis
from tilewright.analysis.needed_precision import LAST_BITS, LONG, tolerance_of
from tilewright.compile.pipeline import PASSES
from tilewright.frontend.interp.build import build
from tilewright.launch.inspection import Inspection

pytestmark = pytest.mark.filterwarnings("ignore::tilewright.base.errors.PaddingWarning")

SHAPE = (4, 16)
SLACK = 1.02
"""Products of errors, which the analysis leaves out."""
UNARY = ("tl.exp({})", "tl.exp2({})", "tl.tanh({})", "abs({})", "-{}", "tl.sqrt(abs({}))",
         "tl.rsqrt(abs({}) + 0.5)", "tl.log(abs({}) + 0.1)", "tl.reduce_sum({}, 1, keepdims=True)",
         "tl.reduce_max({}, 1, keepdims=True)")  # fmt: skip
BINARY = ("({} + {})", "({} - {})", "({} * {})", "({} / {})", "tl.maximum({}, {})",
          "tl.minimum({}, {})", "tl.where(x > 0.0, {}, {})")  # fmt: skip
LEAVES = ("x", "y", "x", "y", "0.5", "1.0", "3.0")


def expression(rng, depth):
    """A random expression of x and y, as text."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(LEAVES)
    if rng.random() < 0.5:
        return rng.choice(UNARY).format(tile(rng, depth - 1))
    return rng.choice(BINARY).format(tile(rng, depth - 1), expression(rng, depth - 1))


def tile(rng, depth):
    """An expression that is no number."""
    text = expression(rng, depth)
    return text if "x" in text or "y" in text else f"(x * {text})"


def built(text, dtype, shape=SHAPE):
    """The IR of a kernel that rounds an expression to a type, after all passes."""
    source = (
        "@tw.entry\n"
        "def kernel(out: tl.TensorMut, a: tl.Tensor, b: tl.Tensor) -> None:\n"
        "    x = tl.load_tile_like(a, out).astype(tw.f32)\n"
        "    y = tl.load_tile_like(b, out).astype(tw.f32)\n"
        f"    out.store(tl.broadcast({text}, out.shape).astype(out.dtype))\n"
    )
    names = {"tw": tw, "tl": tl}
    tw.exec(source, names)
    kernel = names["kernel"]
    args = (tw.meta(shape, dtype).partition_mut(shape), *[tw.meta(shape, dtype)] * 2)
    func = build(kernel.source, Inspection(kernel.kernel, args, {}, "reference").signature)
    for pass_ in PASSES:
        func = pass_(func)
    return func


RULES = {
    "addf": np.add, "subf": np.subtract, "mulf": np.multiply, "divf": np.divide,
    "fma": lambda a, b, c: a * b + c, "maxf": np.maximum, "minf": np.minimum, "negf": np.negative,
    "absf": np.abs, "exp": np.exp, "exp2": np.exp2, "tanh": np.tanh, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "log": np.log, "select": np.where,
}  # fmt: skip
REDUCTIONS = {"addf": np.sum, "maxf": np.max}


def evaluated(func, inputs, off, sums=None):
    """What each rounding is given, in f64; `off` gives the factor of an op's result.

    `sums` takes the results of reductions, and the sums of the magnitudes of their terms.
    """
    values, given, loads = {}, [], iter(inputs)
    for op in func.walk():
        args = [values.get(v) for v in op.operands]
        if op.name == "load_view":
            values[op.results[0]] = next(loads)
        elif op.name == "constant":
            values[op.result] = np.full(op.result.tile.shape, op.attrs["value"])
        elif op.name == "reduce":
            combine = REDUCTIONS[op.regions[0].ops[0].name]
            values[op.results[0]] = combine(args[0], axis=op.attrs["axis"])
            if sums is not None:
                sums.append((values[op.results[0]], np.abs(args[0]).sum(op.attrs["axis"])))
        elif op.name == "reshape":
            values[op.result] = args[0].reshape(op.result.tile.shape)
        elif op.name == "broadcast":
            values[op.result] = np.broadcast_to(args[0], op.result.tile.shape)
        elif op.name == "cmpf":
            values[op.result] = args[0] > args[1]
        elif op.name == "ftof":
            values[op.result] = args[0]
            if op.result.tile.dtype.bits == 16:
                given.append(args[0])
        elif op.name in RULES and all(a is not None for a in args):
            values[op.result] = RULES[op.name](*args) * off(op)
    assert given or sums
    return given


def worst_share(text, dtype, rng):
    """The greatest error before a rounding, as a share of what the rounding hides."""
    func = built(text, dtype)
    inputs = [rng.uniform(-3, 3, SHAPE).astype(np.float32).astype(dtype.np).astype(np.float64)
              for _ in range(2)]  # fmt: skip
    found = 0.0
    with np.errstate(all="ignore"):
        exact = evaluated(func, inputs, lambda op: 1.0)
        for draw in range(6):

            def off(op, draw=draw):
                bits = op.attrs.get("bits", 0)
                if not 0 < bits < LAST_BITS:
                    return 1.0
                signs = (1, -1)[draw] if draw < 2 else rng.choice([1, -1], op.result.tile.shape)
                return 1 + signs * 2.0**-bits

            for a, b in zip(exact, evaluated(func, inputs, off), strict=True):
                error = np.abs(b / a - 1) / tolerance_of(dtype)
                normal = np.isfinite(error) & (np.abs(a) > 1e-30) & (np.abs(a) < 1e30)
                found = max(found, error[normal].max(initial=0.0))
    return float(found)


def programs(seed, count):
    rng = np.random.default_rng(seed)
    return [tile(rng, 4) for _ in range(count)], rng


@pytest.mark.parametrize("dtype", [f16, bf16], ids=str)
def test_errors_stay_hidden(rng, dtype):
    seed = int(rng.integers(1 << 31))
    texts, rng = programs(seed, tiers.count(quick=60, full=400))
    shares = {text: worst_share(text, dtype, rng) for text in texts}
    wrong = {text: share for text, share in shares.items() if share > SLACK}
    assert not wrong
    assert sum(share > 0.2 for share in shares.values()) > len(texts) / 10, "few are off at all"


def worst_sum(text, rng, shape):
    """The greatest error of a sum that is kept in f32, as a share of what its terms may make."""
    func = built(f"tl.reduce_sum({text}, 1, keepdims=True)", f32, shape)
    inputs = [rng.uniform(-3, 3, shape).astype(np.float32).astype(np.float64) for _ in range(2)]
    count = sum(op.attrs.get("bits", 0) > 0 for op in func.walk())
    found = 0.0
    with np.errstate(all="ignore"):
        evaluated(func, inputs, lambda op: 1.0, exact := [])
        for sign in (1, -1):

            def off(op, sign=sign):
                return 1 + sign * 2.0**-LAST_BITS if op.attrs.get("bits", 0) else 1.0

            evaluated(func, inputs, off, inexact := [])
            (a, magnitude), (b, _) = exact[-1], inexact[-1]
            error = np.abs(b - a) / (magnitude * 2.0**-LAST_BITS)
            normal = np.isfinite(error) & (magnitude > 1e-30) & (magnitude < 1e30)
            found = max(found, error[normal].max(initial=0.0) / max(count, 1))
    return float(found), count


def test_terms_of_a_long_sum(rng):
    """An f32 sum of n terms is off by up to n ulp: functions may make a part of that."""
    texts, rng = programs(int(rng.integers(1 << 31)), tiers.count(quick=60, full=400))
    texts = [text for text in texts if "reduce" not in text]
    shares = {text: worst_sum(text, rng, (4, LONG)) for text in texts}
    wrong = {text: share for text, (share, _) in shares.items() if share > SLACK}
    assert not wrong
    assert sum(count > 0 for _, count in shares.values()) > len(texts) / 10, "few are off at all"
    assert not any(worst_sum(text, rng, (4, LONG // 2))[1] for text in texts[:20])


class Everything:
    """Signs of which every one is known."""

    def __contains__(self, value):
        return True


def _undivided(self, op, tolerance):
    return tolerance


def _bounded(op):
    return op.defn.conditions or [1.0] * len(op.operands)


def _terms(self, terms, combiner, tolerance):
    return tolerance


MUTANTS = {
    "sums never cancel": (analysis, "signs", lambda func: Everything()),
    "nothing is shared": (analysis.NeededPrecision, "share", _undivided),
    "arguments of functions as their results": (analysis, "_conditions", _bounded),
    "sums of terms never cancel": (analysis.NeededPrecision, "of_terms", _terms),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_rules_are_noticed(name, monkeypatch):
    owner, attribute, wrong = MUTANTS[name]
    monkeypatch.setattr(owner, attribute, wrong)
    texts, rng = programs(7, 150)
    assert math.inf > max(worst_share(text, f16, rng) for text in texts) > 1.5
