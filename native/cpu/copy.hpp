// The kernel that copies and fills blocks of host memory: tiles of two axes, of the others one
// index per block.
#pragma once

#include <cstdint>

#include "cpu/job.hpp"

namespace tw::cpu {

// The arguments of a copy, as devices/cpu/copying.py lays them out: 64-bit words, strides in bytes.
struct CopyArguments {
  char* target;
  const char* source;
  std::int64_t itemsize;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t target_row;
  std::int64_t target_column;
  std::int64_t source_row;
  std::int64_t source_column;
  std::int64_t tile_rows;
  std::int64_t tile_columns;
  std::int64_t row_tiles;
  std::int64_t column_tiles;
  std::int64_t outer_rank;

  struct Axis {
    std::int64_t extent;
    std::int64_t target;
    std::int64_t source;
  };
  // The further axes, the fastest first.
  const Axis* outer() const { return reinterpret_cast<const Axis*>(this + 1); }
};

static_assert(sizeof(CopyArguments) == 14 * kWord);

// A `Kernel`; its arguments are `CopyArguments`.
void copy_blocks(void* arguments, LaunchRecord* launch, std::int64_t begin, std::int64_t end,
                 void* scratch);

// A `Kernel` that writes the time, as `now` tells it, to its only argument.
void note_time(void* arguments, LaunchRecord* launch, std::int64_t begin, std::int64_t end,
               void* scratch);

}  // namespace tw::cpu
