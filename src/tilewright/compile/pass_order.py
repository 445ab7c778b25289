"""The passes between the front end and a backend, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ..ir.core import Func
from ..passes.bounds_checks import place_checks, prove_checks
from ..passes.canonicalize import canonicalize
from ..passes.cse import cse
from ..passes.dce import dce
from ..passes.fma_contraction import fma_contraction
from ..passes.insert_tokens import insert_tokens
from ..passes.licm import licm
from ..passes.lower_control_flow import lower_control_flow
from ..passes.needed_precision import needed_precision
from ..passes.rematerialize import rematerialize
from ..passes.split_loops import split_loops
from ..passes.transpose_products import transpose_products
from .options import PLAIN, CompileOptions

PASSES = (
    # First, so that no access of the source is forgotten.
    prove_checks,
    canonicalize,
    cse,
    licm,
    split_loops,
    # What hoisting has moved lets more checks move.
    place_checks,
    # Splitting leaves constant conditions behind, and copies that are now equal.
    canonicalize,
    cse,
    dce,
    # Last, so that every backend multiplies and adds in the very same places.
    fma_contraction,
    needed_precision,
    dce,
)

CUDA_PASSES = (
    lower_control_flow,
    canonicalize,
    cse,
    dce,
    transpose_products,
    rematerialize,
    dce,
    insert_tokens,
)
"""What follows for CUDA: Tile IR has less control flow, and no order of accesses but by tokens."""

WARP_GROUPS = ("sm_90",)
"""Architectures whose products take one operand from registers, but not the other."""


Passes: TypeAlias = Sequence[Callable[[Func], Func]]


def shared_passes(options: CompileOptions = PLAIN) -> Passes:
    """Return the passes of all targets, but for those that options switch off."""
    if options.needed_precision is False:
        return tuple(pass_ for pass_ in PASSES if pass_ is not needed_precision)
    return PASSES


def cuda_passes(target: str, options: CompileOptions = PLAIN) -> Passes:
    """Return what follows for one architecture."""
    wanted = options.register_operands
    if target in WARP_GROUPS if wanted is None else wanted:
        return CUDA_PASSES
    return tuple(pass_ for pass_ in CUDA_PASSES if pass_ is not transpose_products)
