"""LLVM text that reads and writes words of records, rows of them, and slots of objects."""

from __future__ import annotations

from ..cpu.layouts import CLASS
from .words import Look, TensorWord

UNSHARED = Look.EXCLUSIVE | Look.WRITERS | Look.NEIGHBOURS
"""Why reading is no mere look at the epoch."""
UNCLEAR = Look.WRITERS | Look.NEIGHBOURS
"""Why writing must be looked at closer before it is known with what."""

RECORDS = f"""
define internal i64 @word(ptr %record, i64 %i) alwaysinline {{
  %at = getelementptr i64, ptr %record, i64 %i
  %word = load i64, ptr %at
  ret i64 %word
}}

define internal ptr @link(ptr %record, i64 %i) alwaysinline {{
  %at = getelementptr ptr, ptr %record, i64 %i
  %found = load ptr, ptr %at
  ret ptr %found
}}

define internal void @set(ptr %record, i64 %i, i64 %word) alwaysinline {{
  %at = getelementptr i64, ptr %record, i64 %i
  store i64 %word, ptr %at
  ret void
}}

; What an object of Python has in a slot; it stays the object's.
define internal ptr @slot(ptr %object, i64 %offset) alwaysinline {{
  %at = getelementptr i8, ptr %object, i64 %offset
  %found = load ptr, ptr %at
  ret ptr %found
}}

; Gives an object something for a slot, which becomes its own.
define internal void @give(ptr %object, i64 %offset, ptr %given) alwaysinline {{
  %at = getelementptr i8, ptr %object, i64 %offset
  %before = load ptr, ptr %at
  store ptr %given, ptr %at
  call void @Py_DecRef(ptr %before)
  ret void
}}

; Whether that is its very class.
define internal i1 @is_of(ptr %object, ptr %class) alwaysinline {{
  %its = call ptr @slot(ptr %object, i64 {CLASS})
  %same = icmp eq ptr %its, %class
  ret i1 %same
}}

; The record of the memory of a tensor of a row.
define internal ptr @storage(ptr %row, i64 %i) alwaysinline {{
  %tensor = call ptr @link(ptr %row, i64 %i)
  %storage = call ptr @link(ptr %tensor, i64 {TensorWord.STORAGE.value})
  ret ptr %storage
}}
"""
