"""The two forms of managed DLPack tensors, and the native routines that end them.

A deleter may be called from any thread, with or without the interpreter's lock, and after the
interpreter is gone. So it only sets the word that the managed tensor's context points to. The next
sweep finds it.
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
    """The destructor of a capsule: calls the deleter, unless the managed tensor was consumed."""


PLAIN = Form(b"dltensor", DLPACK_DELETER, DLPACK_DESTRUCTOR)
VERSIONED = Form(b"dltensor_versioned", DLPACK_VERSIONED_DELETER, DLPACK_VERSIONED_DESTRUCTOR)
