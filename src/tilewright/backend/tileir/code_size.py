"""Estimates the machine code of Tile IR: the instructions that each thread of a block gets.

An estimate is right within a factor of about two. Layouts are the assembler's own choice; the ones
assumed here are those it chose for the kernels of tests/toolchain/test_code_growth.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from math import prod

from ...base.cuda_abi import POINTER_ALIGNMENT
from .bytecode.program import DivBy, Instr, InstructionRegion, Val
from .bytecode.types import Pointer, ScalarType, TileValueType

WARP = 32
INSTRUCTION_BYTES = 16
FREE = frozenset({
    "assume", "broadcast", "constant", "iota", "reshape", "bitcast", "make_token", "join_tokens",
    "make_tensor_view", "make_partition_view", "make_strided_view", "make_gather_scatter_view",
    "get_tile_block_id", "get_num_tile_blocks", "yield", "continue", "break", "return",
})  # fmt: skip
"""Instructions of Tile IR that become few of the machine, or none."""
PER_ELEMENT = {
    "sin": 100, "cos": 100, "tan": 120, "sinh": 30, "cosh": 30, "tanh": 20, "pow": 60, "atan2": 60,
    "exp": 8, "log": 14, "log2": 10, "sqrt": 10, "divf": 14, "remf": 60, "divi": 24, "remi": 24,
    "load_ptr_tko": 6, "store_ptr_tko": 4, "store_view_tko": 6, "atomic_rmw_tko": 8,
    "permute": 6, "cat": 6, "extract": 6, "insert": 6,
}  # fmt: skip
"""Instructions of the machine per element, of 32 bits; all others take one."""
PER_LOADED_VECTOR = 6
"""Instructions of a load through a view: an address, a bounds test, a branch."""
PER_STAGED_ELEMENT, PER_STAGED_VECTOR_ELEMENT = 12, 1
"""Instructions by which a thread brings an element into the shared memory for a product: one that
was loaded by itself, or as part of a vector."""
BRANCHING = frozenset({"sin", "cos", "tan", "pow", "remf"})
"""Functions with a slow path for some arguments."""
PRODUCTS = frozenset({"mmaf", "mmai", "mmaf_scaled"})
TENSOR_CORE = 64 * 64 * 16
"""Multiplications of one instruction of tensor cores."""


@dataclass(slots=True)
class CodeSize:
    """Measures parts of one kernel, whose blocks have so many threads."""

    threads: int
    makers: Mapping[Val, Instr]
    """The instruction that each value is a result of."""
    loops: dict[InstructionRegion, int] = field(default_factory=dict[InstructionRegion, int])
    """The instructions of loops with all their copies, by their bodies, as far as that is known."""
    vectors: Mapping[Instr, int] = field(default_factory=dict[Instr, int])
    """The elements that loads by addresses take at once, where they are several."""

    def region(self, region: InstructionRegion) -> int:
        """Return the instructions of a region."""
        return sum(map(self.instruction, region.code))

    def instruction(self, instr: Instr) -> int:
        """Return the instructions that one of Tile IR becomes."""
        name = instr.op.name
        if name in FREE:
            return 0
        if name in ("reduce", "scan"):
            return self._reduction(instr)
        if name in PRODUCTS:
            return self._product(instr)
        if instr.regions:
            return 2 + sum(self._inner(r) for r in instr.regions if r is not None)
        if name == "load_view_tko":
            return -(-self._share(instr.results[0]) // self.vector(instr)) * PER_LOADED_VECTOR
        if instr in self.vectors:
            return -(-self._share(instr.results[0]) // self.vectors[instr]) * PER_ELEMENT[name]
        return self._share(*instr.operands[:1], *instr.results) * PER_ELEMENT.get(name, 1)

    def _inner(self, region: InstructionRegion) -> int:
        return self.loops[region] if region in self.loops else self.region(region)

    def vector(self, load: Instr) -> int:
        """Return the elements that a load through a view takes at once: 1 if rows begin anywhere.

        Rows begin at multiples of 16 bytes where the strides are assumed to be such multiples.
        """
        kind = load.results[0].kind
        assert isinstance(kind, TileValueType), "tiles are loaded"
        view = self.makers[load.operands[0]]
        tensor = self.makers[view.operands[0]]
        base, dims = tensor.operands[0], tensor.operands[1 + tensor.sizes[1] :]
        most = POINTER_ALIGNMENT // kind.scalar.nbytes
        aligned = all(self._divisor(v) >= most for v in dims)
        return most if aligned and self._divisor(base) >= POINTER_ALIGNMENT else 1

    def _divisor(self, value: Val) -> int:
        """Return the assumed divisor of a value."""
        maker = self.makers.get(value)
        if maker is None or maker.op.name != "assume":
            return 1
        predicate = maker.attrs["predicate"]
        own = predicate.divisor if isinstance(predicate, DivBy) else 1
        return max(own, self._divisor(maker.operands[0]))

    def _share(self, *values: Val) -> int:
        """Return the number of 32-bit words of the largest of some tiles per thread."""
        kinds = [v.kind for v in values if isinstance(v.kind, TileValueType)]
        return max((-(-kind.size // self.threads) * _words(kind) for kind in kinds), default=1)

    def _product(self, instr: Instr) -> int:
        """Return the instructions of a product and of bringing its factors."""
        count = prod(_shape(instr.operands[0])) * _shape(instr.operands[1])[-1]
        by_hand = instr.op.name == "mmaf" and _scalar(instr.operands[0]).width >= 32
        done = count // self.threads if by_hand else 4 * max(count // TENSOR_CORE, 1)
        return done + sum(map(self._staging, instr.operands[:2]))

    def _staging(self, factor: Val) -> int:
        """Return the instructions that bring a factor of a product into the shared memory."""
        is_single = self._vector_of(factor) == 1
        each = PER_STAGED_ELEMENT if is_single else PER_STAGED_VECTOR_ELEMENT
        return self._share(factor) * each

    def _reduction(self, instr: Instr) -> int:
        """Return the instructions of a reduction: within a thread, a warp, and between warps."""
        given = instr.operands[0]
        shape, axis = _shape(given), instr.attrs["dim"]
        assert isinstance(axis, int), "an axis is a number"
        (body,) = instr.regions
        assert body is not None, "a reduction says how two elements become one"
        combine, values = max(self.region(body), 1), len(instr.operands)
        elements = max(1, self._share(given))
        # Threads lie along the axis, one vector each, as far as there are threads.
        across = min(max(shape[axis] // self._vector_of(given), 1), self.threads)
        rows = max(1, prod(shape) // shape[axis] * across // self.threads)
        steps = (min(across, WARP) - 1).bit_length()
        found = max(elements - rows, 0) * combine + rows * steps * (values + combine)
        if across > WARP:  # through the shared memory
            more = (across // WARP - 1).bit_length()
            found += rows * (4 * values + more * (values + combine))
        return found

    def _vector_of(self, value: Val) -> int:
        """Return the number of adjacent elements of a tile that a thread loads at once."""
        seen, pending, found = set[Val](), [value], list[int]()
        while pending:
            maker = self.makers.get(pending.pop())
            if maker is None or maker.results[0] in seen:
                continue
            seen.add(maker.results[0])
            if maker.op.name == "load_view_tko":
                found.append(self.vector(maker))
            elif maker.op.name == "load_ptr_tko":
                found.append(self.vectors.get(maker, 1))
            elif maker.op.name == "if":
                arms = [r.code[-1].operands for r in maker.regions if r is not None]
                pending += chain.from_iterable(arms)
            else:
                pending += maker.operands
        return min(found, default=POINTER_ALIGNMENT // 4)


def instructions(region: InstructionRegion) -> Iterator[Instr]:
    """Yield the instructions of a region, and of those inside it."""
    for instr in region.code:
        yield instr
        for inner in instr.regions:
            if inner is not None:
                yield from instructions(inner)


def _shape(value: Val) -> tuple[int, ...]:
    assert isinstance(value.kind, TileValueType), f"expected a tile, got {value.kind}"
    return value.kind.shape


def _words(kind: TileValueType) -> int:
    """Return the registers of an element."""
    return 2 if isinstance(kind.elem, Pointer) or kind.elem.width > 32 else 1


def _scalar(value: Val) -> ScalarType:
    assert isinstance(value.kind, TileValueType), f"expected a tile, got {value.kind}"
    return value.kind.scalar
