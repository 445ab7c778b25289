"""Evaluate the examples of functions on the reference device, as the book shows them."""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import tilewright as tw
from book.function_examples import BODIES, EXPRESSIONS, HOST, INPUTS, POINTERS, THREADS
from tilewright import f32, simt

DTYPES = {"x": "f4", "y": "f4", "i": "i4", "j": "i4", "b": "?", "m": "f4"}
IMPORTS = "import tilewright as tw\nimport tilewright.lang as tl\nfrom tilewright import simt\n"


@dataclass(frozen=True)
class Shown:
    """An example: what is written, and what comes out of it."""

    code: str
    given: str
    output: str


def example(name: str) -> Shown | None:
    """Return the evaluated example of a function, or None if it has none of these forms."""
    with warnings.catch_warnings(), tw.device("reference"):
        warnings.simplefilter("ignore")
        if name in EXPRESSIONS:
            return Shown(EXPRESSIONS[name], _used(EXPRESSIONS[name]), _printed([name]))
        if name in POINTERS:
            return _with_pointers(POINTERS[name])
        if name in THREADS:
            return _with_threads(THREADS[name])
        if name in BODIES:
            return _with_body(BODIES[name])
    return None


def host_example(name: str) -> Shown | None:
    """Return the evaluated example of a function of the host, or None if it has none."""
    if name not in HOST:
        return None
    add = tw.exec(
        f"{IMPORTS}@tw.entry\ndef add(z: tl.TensorMut, x: tl.Tensor, y: tl.Tensor) -> None:\n"
        "    z.store(tl.load_tile_like(x, z) + tl.load_tile_like(y, z))\n"
    )["add"]
    code = HOST[name].strip()
    printed = io.StringIO()
    with tw.device("cpu"), contextlib.redirect_stdout(printed):
        t = tw.arange(6, dtype=f32).sync().reshape((2, 3))
        exec("\n".join(_lines(code)), {"tw": tw, "np": np, "simt": simt, "t": t, "add": add})
    return Shown(code, "", printed.getvalue().rstrip())


def all_expressions() -> str:
    """Run every expression in one kernel, which is quick, and return what is printed."""
    with warnings.catch_warnings(), tw.device("reference"):
        warnings.simplefilter("ignore")
        return _printed(list(EXPRESSIONS))


def result(name: str) -> str:
    """Return what an expression results in: its type and shape; empty for constants."""
    *before, expression = EXPRESSIONS[name].splitlines()
    with warnings.catch_warnings(), tw.device("reference"):
        warnings.simplefilter("ignore")
        for several in (False, True):
            each = ["for part in value:", "    "] if several else ["part = value", ""]
            told = [f"{each[1]}print({fact})" for fact in ("part.shape", "part.dtype")]
            lines = [*before, f"value = {expression}", each[0], *told]
            with contextlib.suppress(tw.CompileError):
                said = _run(lines).splitlines()
                kinds = [_kind(*pair) for pair in zip(said[::2], said[1::2], strict=True)]
                return ("a tuple: " if several else "") + "; ".join(kinds)
    return ""


def _kind(shape: str, dtype: str) -> str:
    return f"a scalar {dtype}" if shape == "()" else f"a tile of {dtype}, shape {shape}"


def _inputs() -> dict[str, npt.NDArray[np.generic]]:
    return {name: _array(name) for name in DTYPES}


def _array(name: str) -> npt.NDArray[np.generic]:
    values: object = eval(INPUTS[name], {})
    return np.array(values, DTYPES[name])


def _used(code: str) -> str:
    words = set(re.findall(r"\b[a-z]\b", re.sub(r"lambda[^:]*:[^)]*", "", code)))
    return ", ".join(f"{name} = {INPUTS[name]}" for name in INPUTS if name in words)


def _printed(names: list[str]) -> str:
    return _run([line for name in names for line in _lines(EXPRESSIONS[name])])


def _run(lines: list[str]) -> str:
    """Run lines in a kernel of one block, over the inputs, and return what is printed."""
    arrays = _inputs()
    loads = [
        f"{name} = of_{name}.load_tile({a.shape}, {[0] * a.ndim})" for name, a in arrays.items()
    ]
    parameters = ", ".join(f"of_{name}: tl.Tensor" for name in arrays)
    body = [*loads, *lines]
    code = f"{IMPORTS}@tw.entry\ndef example({parameters}, n: tw.i32) -> None:\n" + _indented(body)
    kernel = tw.exec(code)["example"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        kernel(*arrays.values(), int(INPUTS["n"])).grid((1,)).sync()
    return printed.getvalue().rstrip()


def _lines(code: str, last: str = "print({})") -> list[str]:
    *before, expression = code.splitlines()
    return [*before, last.format(expression)]


def _indented(lines: list[str], by: int = 4) -> str:
    return "".join(f"{' ' * by}{line}\n" for line in lines)


def _with_pointers(code: str) -> Shown:
    stores = any(word in code for word in ("store", "tl.scatter", "red_view"))
    lines = code.splitlines() if stores else _lines(code)
    text = f"{IMPORTS}@tw.entry(unsafe=True)\ndef example(memory: tl.Ptr[tw.i32]) -> None:\n"
    kernel = tw.exec(text + _indented(["places = memory + tl.arange(4)", *lines]))["example"]
    memory = tw.from_numpy(np.arange(5, 9, dtype="i4")).sync()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        with tw.unsafe():
            op = kernel(memory.device_pointer())
        op.grid((1,)).sync()
    after = memory.to_numpy()
    said = [printed.getvalue().rstrip()] if printed.getvalue() else []
    if after.tolist() != [5, 6, 7, 8]:
        said.append(f"memory: {after}")
    return Shown(code, "memory = [5, 6, 7, 8]", "\n".join(said))


def _with_threads(code: str) -> Shown:
    two = "index_2d" in code
    options = "domain=2, block=(4, 8)" if two else "block=32"
    place = "simt.index_2d(4)" if two else "simt.index_1d()"
    *before, expression = code.splitlines()
    text = (
        f"{IMPORTS}@simt.kernel({options})\n"
        "def example(out: simt.DisjointSlice[tw.f32], x: simt.Slice[tw.f32]) -> None:\n"
        f"    place = {place}\n    t = simt.thread_idx()\n    with tw.unsafe():\n"
        + _indented([*before, f"value = {expression}"], 8)
        + "        if place < len(out):\n            out[place] = tw.f32(value)\n"
    )
    kernel = tw.exec(text)["example"]
    outs = tw.zeros((8, 4) if two else (32,), f32)
    got, *_ = kernel(outs, np.arange(32, dtype="f4")).sync()
    shown = np.array2string(got.to_numpy().reshape(-1)[:8])
    return Shown(code, "32 threads, x = [0, 1, 2, ..., 31]", f"{shown} (threads 0 to 7)")


def _with_body(code: str) -> Shown:
    text = f"{IMPORTS}@tw.entry\ndef example(out: tl.TensorMut, x: tl.Tensor) -> None:\n"
    kernel = tw.exec(text + _indented(code.splitlines()))["example"]
    out = tw.zeros((8,)).sync()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        kernel(out.partition_mut((4,)), np.arange(8, dtype="f4")).sync()
    said = [printed.getvalue().rstrip()] if printed.getvalue() else []
    return Shown(code, "x = [0, 1, ..., 7], out: 8 elements in tiles of 4",
                 "\n".join([*said, f"out: {out.to_numpy()}"]))  # fmt: skip


__all__ = ["Shown", "all_expressions", "example", "host_example", "result"]
