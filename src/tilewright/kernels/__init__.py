"""Our own kernels: tensors that are computed where they live, and the ops that make them."""

from .fill import eye, eye_rect, fill, full, ones

__all__ = ["eye", "eye_rect", "fill", "full", "ones"]
