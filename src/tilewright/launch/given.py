"""The types of what may be given to a kernel, for the annotations of launchers and of users."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from ..tensors.arc import Arc
from ..tensors.foreign import SupportsCudaArrayInterface, SupportsDLPack
from ..tensors.partition import Partition
from ..tensors.pointer import DevicePointer
from ..tensors.tensor import BorrowMut, Tensor
from .pieces import InPieces, OutputInPieces

KernelArg: TypeAlias = (
    Tensor[Any]
    | Partition[Any]
    | BorrowMut[Any]
    | Arc[Any]
    | DevicePointer[Any]
    | InPieces
    | np.ndarray[Any, Any]
    | np.generic
    | SupportsDLPack
    | SupportsCudaArrayInterface
    | float
    | int
    | tuple[Any, ...]
    | list[Any]
    | None
)
"""A kernel's positional argument. An op that gives one is accepted as well; None and tuples are for
parameters that are annotated with them."""

OutputArg: TypeAlias = Partition[Any] | OutputInPieces[Any]
"""What is given for an output of a tile kernel."""


class TooFewArguments:
    """What a call with too few arguments is for type checkers: nothing can be done with it."""

    __slots__ = ()
