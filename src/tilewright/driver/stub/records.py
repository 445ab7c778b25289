"""LLVM text that reads and writes words of records, and rows of them."""

from __future__ import annotations

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

; The record of the memory of a tensor of a row.
define internal ptr @storage(ptr %row, i64 %i) alwaysinline {{
  %tensor = call ptr @link(ptr %row, i64 %i)
  %storage = call ptr @link(ptr %tensor, i64 {TensorWord.STORAGE.value})
  ret ptr %storage
}}
"""
