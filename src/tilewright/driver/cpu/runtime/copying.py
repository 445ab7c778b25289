"""LLVM text of the kernel that copies and fills: tiles of two axes, the others one index per block.

    void tw_copy(args, launch, begin, end, scratch)      as base.cpu_abi says; args: see `Copy`

A row whose elements lie side by side in both blocks is moved as a whole; one whose elements are all
the same is written in vectors.
"""

from __future__ import annotations

from enum import IntEnum

from ....base.cpu_abi import LaunchWord
from .common import words


class Copy(IntEnum):
    """Positions of the 64-bit words that describe a copy; strides are in bytes."""

    TARGET = 0
    SOURCE = 1
    ITEMSIZE = 2
    ROWS = 3
    COLUMNS = 4
    TARGET_ROW = 5
    TARGET_COLUMN = 6
    SOURCE_ROW = 7
    SOURCE_COLUMN = 8
    TILE_ROWS = 9
    TILE_COLUMNS = 10
    ROW_TILES = 11
    COLUMN_TILES = 12
    OUTER_RANK = 13
    OUTER = 14
    """For each further axis: its extent, its stride in the target and in the source."""


VECTOR = 32
"""Bytes written at once when a row is filled."""

SIZES = (1, 2, 4, 8)

DECLARATIONS = """
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare i64 @llvm.smin.i64(i64, i64)
"""


def _fill(size: int) -> str:
    """A row of elements of one size, side by side, that are all the same: whole vectors first."""
    kind = f"i{8 * size}"
    lanes = VECTOR // size
    vector = f"<{lanes} x {kind}>"
    return f"""
define internal void @fill{size}(ptr %target, ptr %source, i64 %count) {{
entry:
  %value = load {kind}, ptr %source, align 1
  %one = insertelement {vector} poison, {kind} %value, i32 0
  %all = shufflevector {vector} %one, {vector} poison, <{lanes} x i32> zeroinitializer
  %whole = and i64 %count, {-lanes}
  br label %vectors
vectors:
  %i = phi i64 [ 0, %entry ], [ %after, %vector ]
  %many = icmp slt i64 %i, %whole
  br i1 %many, label %vector, label %singles
vector:
  %place = getelementptr {kind}, ptr %target, i64 %i
  store {vector} %all, ptr %place, align 1
  %after = add i64 %i, {lanes}
  br label %vectors
singles:
  %j = phi i64 [ %i, %vectors ], [ %next, %single ]
  %more = icmp slt i64 %j, %count
  br i1 %more, label %single, label %out
single:
  %at = getelementptr {kind}, ptr %target, i64 %j
  store {kind} %value, ptr %at, align 1
  %next = add i64 %j, 1
  br label %singles
out:
  ret void
}}
"""


def _move(size: int) -> str:
    """A row of elements of one size, any strides."""
    kind = f"i{8 * size}"
    return f"""
define internal void @move{size}(ptr %target, ptr %source, i64 %count, i64 %step, i64 %stride) {{
entry:
  %dense = icmp eq i64 %step, {size}
  %same = icmp eq i64 %stride, 0
  %is_fill = and i1 %dense, %same
  br i1 %is_fill, label %fill, label %head
fill:
  call void @fill{size}(ptr %target, ptr %source, i64 %count)
  ret void
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %to = phi ptr [ %target, %entry ], [ %to_next, %body ]
  %from = phi ptr [ %source, %entry ], [ %from_next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %out
body:
  %value = load {kind}, ptr %from, align 1
  store {kind} %value, ptr %to, align 1
  %to_next = getelementptr i8, ptr %to, i64 %step
  %from_next = getelementptr i8, ptr %from, i64 %stride
  %next = add i64 %i, 1
  br label %head
out:
  ret void
}}
"""


_CALLS = "".join(
    f"""
size{size}:
  call void @move{size}(ptr %target, ptr %source, i64 %count, i64 %step, i64 %stride)
  ret void"""
    for size in SIZES
)
_CASES = " ".join(f"i64 {size}, label %size{size}" for size in SIZES)

ROW = f"""
define internal void @row(
    ptr %target, ptr %source, i64 %count, i64 %step, i64 %stride, i64 %itemsize) {{
entry:
  %dense = icmp eq i64 %step, %itemsize
  %aligned = icmp eq i64 %stride, %itemsize
  %run = and i1 %dense, %aligned
  br i1 %run, label %whole, label %elements
whole:
  %bytes = mul i64 %count, %itemsize
  call void @llvm.memmove.p0.p0.i64(ptr %target, ptr %source, i64 %bytes, i1 false)
  ret void
elements:
  switch i64 %itemsize, label %never [ {_CASES} ]
never:
  unreachable{_CALLS}
}}
"""

TILE = f"""
define internal void @tile(ptr %args, ptr %target, ptr %source, i64 %row_tile, i64 %column_tile) {{
entry:
{words("args", Copy, *list(Copy.__members__)[2:11])}
  %itemsize = load i64, ptr %itemsize_at
  %rows = load i64, ptr %rows_at
  %columns = load i64, ptr %columns_at
  %target_row = load i64, ptr %target_row_at
  %target_column = load i64, ptr %target_column_at
  %source_row = load i64, ptr %source_row_at
  %source_column = load i64, ptr %source_column_at
  %tile_rows = load i64, ptr %tile_rows_at
  %tile_columns = load i64, ptr %tile_columns_at
  %first = mul i64 %row_tile, %tile_rows
  %end = add i64 %first, %tile_rows
  %last = call i64 @llvm.smin.i64(i64 %end, i64 %rows)
  %left = mul i64 %column_tile, %tile_columns
  %rest = sub i64 %columns, %left
  %count = call i64 @llvm.smin.i64(i64 %rest, i64 %tile_columns)
  %target_left = mul i64 %left, %target_column
  %source_left = mul i64 %left, %source_column
  %target_edge = getelementptr i8, ptr %target, i64 %target_left
  %source_edge = getelementptr i8, ptr %source, i64 %source_left
  br label %head
head:
  %i = phi i64 [ %first, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %last
  br i1 %more, label %body, label %out
body:
  %down = mul i64 %i, %target_row
  %along = mul i64 %i, %source_row
  %to = getelementptr i8, ptr %target_edge, i64 %down
  %from = getelementptr i8, ptr %source_edge, i64 %along
  call void @row(
    ptr %to, ptr %from, i64 %count, i64 %target_column, i64 %source_column, i64 %itemsize)
  %next = add i64 %i, 1
  br label %head
out:
  ret void
}}
"""

BLOCK = f"""
define internal void @block(ptr %args, i64 %number) {{
entry:
{words("args", Copy, "TARGET", "SOURCE", "ROW_TILES", "COLUMN_TILES", "OUTER_RANK", "OUTER")}
  %target = load ptr, ptr %target_at
  %source = load ptr, ptr %source_at
  %row_tiles = load i64, ptr %row_tiles_at
  %column_tiles = load i64, ptr %column_tiles_at
  %rank = load i64, ptr %outer_rank_at
  %column_tile = urem i64 %number, %column_tiles
  %above = udiv i64 %number, %column_tiles
  %row_tile = urem i64 %above, %row_tiles
  %outer = udiv i64 %above, %row_tiles
  br label %head
head:
  %axis = phi i64 [ 0, %entry ], [ %next, %body ]
  %left = phi i64 [ %outer, %entry ], [ %fewer, %body ]
  %to = phi ptr [ %target, %entry ], [ %to_next, %body ]
  %from = phi ptr [ %source, %entry ], [ %from_next, %body ]
  %more = icmp slt i64 %axis, %rank
  br i1 %more, label %body, label %run
body:
  %triple = mul i64 %axis, 3
  %extent_at = getelementptr i64, ptr %outer_at, i64 %triple
  %step_at = getelementptr i64, ptr %extent_at, i64 1
  %stride_at = getelementptr i64, ptr %extent_at, i64 2
  %extent = load i64, ptr %extent_at
  %step = load i64, ptr %step_at
  %stride = load i64, ptr %stride_at
  %index = urem i64 %left, %extent
  %fewer = udiv i64 %left, %extent
  %down = mul i64 %index, %step
  %along = mul i64 %index, %stride
  %to_next = getelementptr i8, ptr %to, i64 %down
  %from_next = getelementptr i8, ptr %from, i64 %along
  %next = add i64 %axis, 1
  br label %head
run:
  call void @tile(ptr %args, ptr %to, ptr %from, i64 %row_tile, i64 %column_tile)
  ret void
}}

define void @tw_copy(ptr %args, ptr %launch, i64 %begin, i64 %end, ptr %scratch) {{
entry:
  %cancel_at = getelementptr i64, ptr %launch, i64 {LaunchWord.CANCEL.value}
  br label %head
head:
  %number = phi i64 [ %begin, %entry ], [ %next, %body ]
  %more = icmp slt i64 %number, %end
  %cancel = load atomic i64, ptr %cancel_at monotonic, align 8
  %wanted = icmp eq i64 %cancel, 0
  %go = and i1 %more, %wanted
  br i1 %go, label %body, label %out
body:
  call void @block(ptr %args, i64 %number)
  %next = add i64 %number, 1
  br label %head
out:
  ret void
}}
"""

TEXT = DECLARATIONS + "".join(_fill(size) + _move(size) for size in SIZES) + ROW + TILE + BLOCK
