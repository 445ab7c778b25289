"""How native CPU kernels are called: shared by the code generator and by the driver.

    void kernel(ptr args, ptr launch, i64 begin, i64 end, ptr scratch)

runs blocks number begin .. end - 1, in that order. Which logical block has which number is the
kernel's own affair: the last grid axis varies fastest, unless blocks that share work are to be
neighbours. What it reports are linear numbers of logical blocks, the last axis always fastest.

`args` is an array of 64-bit slots, in parameter order: a tensor or output passes its address, then
its extents, then its strides (in elements); a scalar passes its bits in the low end of one slot
(integers extended by their own sign); a pointer passes its address. `launch` is an array of 64-bit
words, laid out below; a worker checks CANCEL before each block, or before each run of neighbouring
blocks that it handles as one. `scratch` is `Artifact.scratch_bytes` of memory aligned to 64 bytes,
one per worker.

A kernel with non-temporal stores has made them visible in order when it returns.

A print record is: i64 bytes in all (a multiple of 8), i64 site, i64 linear block, then the
operands' elements in their memory form, row-major, each operand padded to a multiple of 8 bytes.
Room for it is taken by an atomic add to PRINT_USED; one that does not fit in PRINT_CAPACITY is not
written.
"""

from __future__ import annotations

from enum import IntEnum

MAX_GRID_RANK = 8
SCRATCH_ALIGNMENT = 64


class CpuLaunchWord(IntEnum):
    """Positions of the 64-bit words of the launch record."""

    GRID = 0
    """The grid, MAX_GRID_RANK words, missing axes 1."""
    CANCEL = 8
    """Not 0: start no further block."""
    ERROR_TAKEN = 9
    """0 until the first failure, which sets it to 1 by compare-and-swap and fills the rest."""
    ERROR_SITE = 10
    ERROR_BLOCK = 11
    ERROR_INDEX = 12
    ERROR_EXTENT = 13
    PRINT_BUFFER = 14
    PRINT_CAPACITY = 15
    PRINT_USED = 16
    STREAM = 17
    """Not 0: outputs are too large for the caches; write them past, where code for that is."""
    LOOK = 18
    """A driver function, `i64 look(ptr launch)`, that loops poll. It returns the number of
    iterations until the next call; 0: leave at once, the launch was cancelled."""
    BEGUN = 19
    """When a thread last began with some of its blocks; for `look`, as are the next two."""
    LOOKED = 20
    PATIENCE = 21


LAUNCH_WORDS = 22
