"""The two forms of managed tensors of DLPack, and the native routines that end them.

A deleter may be called from any thread, with or without the interpreter's lock, and after the
interpreter is gone. So it only sets the word that the managed tensor's context points to. Whoever
sweeps next finds it.
"""

from __future__ import annotations

from typing import NamedTuple

from ..._core import (
    DLPACK_DELETER,
    DLPACK_DESTRUCTOR,
    DLPACK_VERSIONED_DELETER,
    DLPACK_VERSIONED_DESTRUCTOR,
)


class Form(NamedTuple):
    """A form: the name of its capsules, and addresses of its native routines."""

    name: bytes
    deleter: int
    """For the managed tensor."""
    destructor: int
    """For its capsule: calls the deleter, if nobody has taken the managed tensor over."""


PLAIN = Form(b"dltensor", DLPACK_DELETER, DLPACK_DESTRUCTOR)
VERSIONED = Form(b"dltensor_versioned", DLPACK_VERSIONED_DELETER, DLPACK_VERSIONED_DESTRUCTOR)
