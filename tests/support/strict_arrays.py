"""Arrays of a library that knows nothing of us, for tests of functions."""

from __future__ import annotations

import numpy as np


class Strict:
    """An array of a library that has DLPack and the functions of Python's array standard."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.device = array, array.shape, array.dtype, "cpu"

    def __dlpack__(self, **wishes):
        return self.array.__dlpack__(**wishes)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


class Library:
    float32 = np.float32

    @staticmethod
    def empty(shape, *, dtype, device):
        return Named(np.empty(shape, dtype))


class Named(Strict):
    def __array_namespace__(self):
        return Library
