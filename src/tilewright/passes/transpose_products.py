"""Transpose products whose second operand is computed, so that it is the first one.

The tensor cores of a warp group (wgmma) take the first operand from registers, the second one from
shared memory alone. So what is computed, such as weights that are converted from 8-bit integers,
would be stored and loaded again in each iteration if it is the second operand.

Goals: chains of products that add to an accumulator of a loop, or to a constant. The accumulator
is carried transposed, and transposed back once, after the loop. Order inside a product is
unspecified, so results agree as closely as those of any two backends. For targets with such
instructions; after `cse` and before tokens.

Non-goals: accumulators that the loop uses for anything but its products; products that use f32 or
f64, which no tensor core multiplies; block-scaled products; results with fewer columns than the
first operand of such an instruction has rows.

Rules (%b is computed in the loop, %a is not; %aT stands for `permute %a`):

1. A chain of products with an accumulator of a loop, where more bytes are computed for second
   operands than for first ones.
       %r = for ... %zero {(%acc) %s = mmaf %a, %b, %acc; continue %s}
    -> %t = for ... %zeroT {(%accT) %u = mmaf %bT, %aT, %accT; continue %u}; %r = permute %t
2. The same for one product outside of loops, where %b has at least as many elements as the result.
3. The transposed tile of a permuted one is what it was made of, and that of a constant a constant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ..analysis.structure import Structure, structure, use_counts
from ..base.dtypes import f32, f64
from ..ir.builder import Rewriter, rewrite
from ..ir.core import Block, Func, Op, Value
from ..ir.opdef import Trait
from ..ir.ops.control import FOR
from ..ir.ops.layout import CONSTANT, PERMUTE, RESHAPE
from ..ir.ops.matmul import MMAF, MMAI
from ..ir.ops.memory import LOAD_PTR, LOAD_VIEW
from ..ir.types import TileType

ROWS = 64
"""The rows of the first operand of an instruction of a warp group."""
COLUMNS = 8
"""The least columns of its second operand."""


def transpose_products(func: Func) -> Func:
    """Transpose products wherever the rules above allow."""
    chooser = _ProductChooser(func)
    return rewrite(func, _Transposer(chooser.chains()).visit)


# --- which products ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Chain:
    """Products that add to one accumulator, one after the other: of a loop, or of none."""

    products: tuple[Op, ...]
    loop: Op | None = None
    at: int = 0
    """The position of the accumulator among the values that the loop carries."""


class _ProductChooser:
    def __init__(self, func: Func) -> None:
        self.func = func
        self.nesting: Structure = structure(func)
        self.uses = use_counts(func)
        self.adding = {op.one("acc"): op for op in func.walk() if op.is_a(MMAF, MMAI)}
        """The product that adds to each accumulator."""

    def chains(self) -> list[_Chain]:
        """Return the chains that are to be transposed."""
        found = [*self._of_loops(), *self._alone()]
        return [chain for chain in found if self._gain(chain) > 0]

    def _of_loops(self) -> Iterator[_Chain]:
        for loop in (op for op in self.func.walk() if op.is_a(FOR)):
            body = loop.regions[0]
            if len(self.nesting.exits.get(loop, ())) != 1 or any(self.nesting.leaves(loop)):
                continue
            for at, (acc, last) in enumerate(
                zip(body.args[1:], body.terminator.operands, strict=True)
            ):
                products = self._products(acc, last, body)
                if products:
                    yield _Chain(products, loop, at)

    def _products(self, acc: Value, last: Value, body: Block) -> tuple[Op, ...]:
        """Return the products from an accumulator to the value that the next iteration gets."""
        found: list[Op] = []
        while acc is not last:
            product = self.adding.get(acc)
            alone = self.uses[acc] == 1 and product is not None
            if product is None or not alone or self.nesting.block[product] is not body:
                return ()
            found.append(product)
            acc = product.result
        return tuple(found) if self.uses[last] == 1 else ()

    def _alone(self) -> Iterator[_Chain]:
        for product in (op for op in self.func.walk() if op.is_a(MMAF, MMAI)):
            maker = self.nesting.definer(product.one("acc"))
            in_loop = any(outer.has(Trait.LOOP) for outer in self.nesting.ancestors(product))
            if maker is not None and maker.is_a(CONSTANT) and not in_loop:
                yield _Chain((product,))

    def _gain(self, chain: _Chain) -> int:
        """Return the bytes of shared-memory traffic that transposing a chain saves."""
        if not all(map(_fits, chain.products)):
            return 0
        gain = sum(self._computed(p, "rhs") - self._computed(p, "lhs") for p in chain.products)
        if chain.loop is None:
            first = chain.products[0]
            result = first.result.tile
            return gain if first.one("rhs").tile.size >= result.size else 0
        return gain

    def _computed(self, product: Op, name: str) -> int:
        """Return the bytes of an operand, if it is computed where the product is."""
        value = product.one(name)
        maker = self.nesting.definer(value)
        while maker is not None and maker.is_a(PERMUTE, RESHAPE):
            maker = self.nesting.definer(maker.operands[0])
        if maker is None or maker.is_a(LOAD_VIEW, LOAD_PTR, CONSTANT):
            return 0
        if self.nesting.block[maker] is not self.nesting.block[product]:
            return 0
        return value.tile.size * value.tile.dtype.itemsize


def _fits(product: Op) -> bool:
    """Return whether there is an instruction for the transposed product."""
    *_, rows, columns = product.result.tile.shape
    dtype = product.one("lhs").tile.dtype
    return dtype not in (f32, f64) and columns % ROWS == 0 and rows % COLUMNS == 0


# --- the rewriting -------------------------------------------------------------------------------


class _Transposer:
    def __init__(self, chains: Sequence[_Chain]) -> None:
        self.of_loop: dict[Op, list[_Chain]] = {}
        self.alone: set[Op] = set()
        self.turned: set[Op] = set()
        """Products of loops, whose accumulators are transposed already."""
        for chain in chains:
            if chain.loop is None:
                self.alone.update(chain.products)
            else:
                self.of_loop.setdefault(chain.loop, []).append(chain)
                self.turned.update(chain.products)
        self.makers: dict[Value, Op] = {}
        """The new ops that transposing looks through."""

    def visit(self, r: Rewriter, op: Op) -> Sequence[Value] | None:
        if op.is_a(PERMUTE, CONSTANT):
            made = r.copy(op)
            self.makers[made.result] = made
            return made.results
        if op in self.turned:
            return (self.product(r, op, r.get(op.one("acc"))),)
        if op in self.alone:
            product = self.product(r, op, self.transposed(r, r.get(op.one("acc"))))
            return (self.transposed(r, product),)
        return self.loop(r, op) if op in self.of_loop else None

    def product(self, r: Rewriter, op: Op, acc: Value) -> Value:
        """Append a product of transposed operands."""
        lhs, rhs = (self.transposed(r, r.get(op.one(name))) for name in ("rhs", "lhs"))
        return r.op(op.name, lhs, rhs, acc, **op.attrs).result

    def loop(self, r: Rewriter, op: Op) -> Sequence[Value]:
        """Append a loop that carries transposed accumulators, and transpose its results back."""
        places = [chain.at for chain in self.of_loop[op]]
        body = op.regions[0]
        args = [Value(a.type, a.name) for a in body.args]
        inits = list(r.many(op.all("init")))
        for at in places:
            inits[at] = self.transposed(r, inits[at])
            args[at + 1] = Value(inits[at].type, body.args[at + 1].name)
        new = Block(tuple(args))
        r.bind(body.args, new.args)
        with r.at(new):
            r.ops(body.ops)
        kinds = [v.type for v in inits]
        results = tuple(Value(t, v.name) for t, v in zip(kinds, op.results, strict=True))
        bounds = [r.get(op.one(name)) for name in ("lower", "upper", "step")]
        made = replace(op, operands=(*bounds, *inits), results=results, regions=(new,))
        r.block.ops.append(made)
        return [
            self.transposed(r, value) if at in places else value
            for at, value in enumerate(made.results)
        ]

    def transposed(self, r: Rewriter, value: Value) -> Value:
        """Exchange the last two axes of a tile."""
        kind = value.tile
        order = (*range(kind.rank - 2), kind.rank - 1, kind.rank - 2)
        maker = self.makers.get(value)
        if maker is not None and maker.is_a(CONSTANT):
            return r.constant(maker.attrs["value"], kind.dtype, _exchanged(kind))
        if maker is not None and tuple(maker.attrs["order"]) == order:
            return maker.operands[0]
        return r.emit("permute", value, order=order)


def _exchanged(kind: TileType) -> tuple[int, ...]:
    return (*kind.shape[:-2], kind.shape[-1], kind.shape[-2])
