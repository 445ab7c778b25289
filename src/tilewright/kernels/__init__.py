"""Our own kernels: tensors that are computed where they live, and the ops that make them."""

from .conversion import convert
from .filling import eye, eye_rect, fill, full, full_like, ones, ones_like
from .random_numbers import rand, randint, randn, randn_f16, random_bits
from .ranges import arange, linspace

__all__ = [
    "arange",
    "convert",
    "eye",
    "eye_rect",
    "fill",
    "full",
    "full_like",
    "linspace",
    "ones",
    "ones_like",
    "rand",
    "randint",
    "randn",
    "randn_f16",
    "random_bits",
]
