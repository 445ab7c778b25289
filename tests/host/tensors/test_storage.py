from __future__ import annotations

import gc
import weakref

import numpy as np

from tilewright.devices.host import CPU
from tilewright.tensors.region import region_of_array


def test_an_array_lives_as_long_as_its_region():
    a = np.zeros(4, "f4")
    gone = weakref.ref(a)
    region = region_of_array(a, CPU)
    del a
    assert gone() is not None
    assert region.array().tolist() == [0, 0, 0, 0]
    del region
    gc.collect()
    assert gone() is None
