"""Native code that notes when another library is done with exported memory (DLPack).

A deleter may be called from any thread, with or without the interpreter's lock, and after the
interpreter is gone. So it is native, and does one thing: it sets the word that the managed tensor's
context points to. Whoever sweeps next finds it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from ...base.forking import made_once
from .native import initialize, link, llvm


class Form(NamedTuple):
    """One of the two forms of managed tensors: the name of its capsules, where its context is."""

    name: bytes
    context: int
    """Bytes from the start of a managed tensor to the pointer to its context."""
    suffix: str


PLAIN = Form(b"dltensor", 48, "plain")
VERSIONED = Form(b"dltensor_versioned", 8, "versioned")


class Routines(NamedTuple):
    """Addresses of native routines for one form."""

    deleter: int
    """For the managed tensor."""
    destructor: int
    """For its capsule: calls the deleter, if nobody has taken the managed tensor over."""


_TEXT = """
@name_{suffix} = private constant [{length} x i8] c"{name}\\00"
define void @tw_delete_{suffix}(ptr %managed) {{
  %context_at = getelementptr i8, ptr %managed, i64 {context}
  %word = load ptr, ptr %context_at
  store atomic i64 1, ptr %word release, align 8
  ret void
}}
define void @tw_destroy_{suffix}(ptr %capsule) {{
  %valid = call i32 @PyCapsule_IsValid(ptr %capsule, ptr @name_{suffix})
  %ours = icmp ne i32 %valid, 0
  br i1 %ours, label %delete, label %done
delete:
  %managed = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr @name_{suffix})
  call void @tw_delete_{suffix}(ptr %managed)
  br label %done
done:
  ret void
}}
"""
_DECLARED = """
declare i32 @PyCapsule_IsValid(ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
"""


@made_once
def routines() -> Mapping[Form, Routines]:
    """The routines by form, loaded at the first export and never unloaded."""
    initialize()
    forms = (PLAIN, VERSIONED)
    text = _DECLARED + "".join(
        _TEXT.format(
            name=form.name.decode(), length=len(form.name) + 1, context=form.context,
            suffix=form.suffix,
        )
        for form in forms
    )  # fmt: skip
    machine = llvm.Target.from_default_triple().create_target_machine(opt=2)
    symbols = [f"tw_{verb}_{form.suffix}" for form in forms for verb in ("delete", "destroy")]
    found = link(machine.emit_object(llvm.parse_assembly(text)), tuple(symbols))
    # Another library may call a deleter when the interpreter has taken everything down.
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(found))
    table = {
        form: Routines(
            *[found[f"tw_{verb}_{form.suffix}"].address for verb in ("delete", "destroy")]
        )
        for form in forms
    }
    return MappingProxyType(table)
