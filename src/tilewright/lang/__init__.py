"""The kernel language: `import tilewright.lang as tl`.

Names are declarations for readers and type checkers, which the compiler implements; those of
`stdlib` have a body in this language.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .accumulator import Accumulator, AnyAccumulator
from .arithmetic import (
    abs,
    absf,
    absi,
    addf,
    addi,
    ceil_div,
    clamp,
    divf,
    divi,
    floor_div,
    fma,
    max,
    max_tile,
    maxf,
    maxi,
    maximum,
    min,
    min_tile,
    minf,
    mini,
    minimum,
    mulf,
    mulhii,
    muli,
    negf,
    negi,
    remf,
    remi,
    subf,
    subi,
    true_div,
)
from .atomics import (
    atomic_add,
    atomic_and,
    atomic_cas,
    atomic_cas_tko,
    atomic_max,
    atomic_min,
    atomic_or,
    atomic_red_view,
    atomic_red_view_tko,
    atomic_rmw,
    atomic_rmw_tko,
    atomic_xchg,
    atomic_xor,
)
from .bitwise import andi, noti, ori, shli, shri, xori
from .comparison import (
    cmpf,
    cmpi,
    eq_tile,
    ge_tile,
    gt_tile,
    le_tile,
    lt_tile,
    ne_tile,
    select,
    where,
)
from .control import static_range
from .conversion import (
    astype,
    bitcast,
    convert_scalar,
    convert_tile,
    exti,
    ftof,
    ftoi,
    itof,
    pack,
    trunci,
    unpack,
)
from .creation import (
    arange,
    broadcast_scalar,
    constant,
    full,
    iota,
    ones,
    scalar_to_tile,
    tile_to_scalar,
    zeros,
)
from .debug import cuda_tile_assert, cuda_tile_print
from .device_global import Global
from .enums import (
    AtomicMode,
    Ordering,
    Overflow,
    Predicate,
    Rounding,
    Scope,
    nan,
    neg_inf,
    neg_zero,
    pos_inf,
    zero,
)
from .grid import block_id, get_num_tile_blocks, get_tile_block_id, num_blocks
from .layout import (
    broadcast,
    cat,
    expand_dims,
    extract,
    get_shape_dim,
    permute,
    permute_array,
    reshape,
    transpose,
)
from .mapped import AnyMappedPartitionMut, MappedPartitionMut, PartitionIndex
from .math import (
    atan2,
    ceil,
    cos,
    cosh,
    erf,
    exp,
    exp2,
    expm1,
    floor,
    log,
    log1p,
    log2,
    pow,
    round,
    rsqrt,
    sin,
    sinh,
    sqrt,
    tan,
    tanh,
)
from .matmul import mma, mmaf, mmaf_scaled, mmai
from .memory import (
    get_index_space_shape,
    get_tensor_shape,
    load_tile_like,
    load_tile_mut,
    num_tiles,
    store_tile,
)
from .parameter import Const, Dyn, Ptr
from .pointer import (
    PointerTile,
    addptr,
    addptr_tile,
    assume_bounds,
    assume_bounds_lower,
    assume_bounds_upper,
    assume_div_by,
    assume_div_by_every_along,
    assume_same_elements,
    broadcast_ptr,
    gather,
    get_global,
    int_to_ptr,
    load_ptr,
    load_ptr_tko,
    load_tensor,
    load_view_tko,
    make_gather_scatter_view,
    make_partition_view,
    make_partition_view_mut,
    make_strided_view,
    make_tensor_view,
    pointer_to_tile,
    ptr_to_int,
    ptr_to_ptr,
    reshape_ptr,
    scatter,
    store_ptr,
    store_ptr_tko,
    store_view_tko,
    tile_to_pointer,
)
from .reduction import (
    all,
    any,
    argmax,
    argmin,
    cumsum,
    reduce,
    reduce_max,
    reduce_min,
    reduce_prod,
    reduce_sum,
    scan,
    scan_sum,
)
from .stdlib.activation import gelu, isinf, isnan, relu, sigmoid, sign, silu
from .stdlib.arrangement import flip, interleave, split, stack, take_along_axis, unstack
from .stdlib.elementary import acos, asin, atan, log10, trunc
from .stdlib.ordering import argsort, sort, topk
from .stdlib.random import philox, rand, randint, randn
from .stdlib.statistics import cumprod, logsumexp, mean, softmax, var
from .synonyms import missing as _missing
from .tensor import AnyTensor, AnyTensorMut, Partition, PartitionMut, Tensor, TensorMut
from .tile import Tile

__all__ = [
    "Accumulator", "AnyAccumulator", "AnyMappedPartitionMut", "AnyTensor", "AnyTensorMut",
    "AtomicMode", "Const", "Dyn", "Global", "MappedPartitionMut", "Ordering", "Overflow",
    "Partition", "PartitionIndex", "PartitionMut", "PointerTile", "Predicate", "Ptr", "Rounding",
    "Scope", "Tensor", "TensorMut", "Tile", "abs", "absf", "absi", "acos", "addf", "addi", "addptr",
    "addptr_tile", "all", "andi", "any", "arange", "argmax", "argmin", "argsort", "asin",
    "assume_bounds", "assume_bounds_lower", "assume_bounds_upper", "assume_div_by",
    "assume_div_by_every_along", "assume_same_elements", "astype", "atan", "atan2", "atomic_add",
    "atomic_and", "atomic_cas", "atomic_cas_tko", "atomic_max", "atomic_min", "atomic_or",
    "atomic_red_view", "atomic_red_view_tko", "atomic_rmw", "atomic_rmw_tko", "atomic_xchg",
    "atomic_xor", "bitcast", "block_id", "broadcast", "broadcast_ptr", "broadcast_scalar", "cat",
    "ceil", "ceil_div", "clamp", "cmpf", "cmpi", "constant", "convert_scalar", "convert_tile",
    "cos", "cosh", "cuda_tile_assert", "cuda_tile_print", "cumprod", "cumsum", "divf", "divi",
    "eq_tile", "erf", "exp", "exp2", "expand_dims", "expm1", "exti", "extract", "flip", "floor",
    "floor_div", "fma", "ftof", "ftoi", "full", "gather", "ge_tile", "gelu", "get_global",
    "get_index_space_shape", "get_num_tile_blocks", "get_shape_dim", "get_tensor_shape",
    "get_tile_block_id", "gt_tile", "int_to_ptr", "interleave", "iota", "isinf", "isnan", "itof",
    "le_tile", "load_ptr", "load_ptr_tko", "load_tensor", "load_tile_like", "load_tile_mut",
    "load_view_tko", "log", "log1p", "log2", "log10", "logsumexp", "lt_tile",
    "make_gather_scatter_view", "make_partition_view", "make_partition_view_mut",
    "make_strided_view", "make_tensor_view", "max", "max_tile", "maxf", "maxi", "maximum", "mean",
    "min", "min_tile", "minf", "mini", "minimum", "mma", "mmaf", "mmaf_scaled", "mmai", "mulf",
    "mulhii", "muli", "nan", "ne_tile", "neg_inf", "neg_zero", "negf", "negi", "noti", "num_blocks",
    "num_tiles", "ones", "ori", "pack", "permute", "permute_array", "philox", "pointer_to_tile",
    "pos_inf", "pow", "ptr_to_int", "ptr_to_ptr", "rand", "randint", "randn", "reduce",
    "reduce_max", "reduce_min", "reduce_prod", "reduce_sum", "relu", "remf", "remi", "reshape",
    "reshape_ptr", "round", "rsqrt", "scalar_to_tile", "scan", "scan_sum", "scatter", "select",
    "shli", "shri", "sigmoid", "sign", "silu", "sin", "sinh", "softmax", "sort", "split", "sqrt",
    "stack", "static_range", "store_ptr", "store_ptr_tko", "store_tile", "store_view_tko", "subf",
    "subi", "take_along_axis", "tan", "tanh", "tile_to_pointer", "tile_to_scalar", "topk",
    "transpose", "true_div", "trunc", "trunci", "unpack", "unstack", "var", "where", "xori", "zero",
    "zeros",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = _missing
