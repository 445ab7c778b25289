#include "cpu/copy.hpp"

#include <algorithm>
#include <cstring>

#include "core/clock.hpp"

namespace tw::cpu {

namespace {

// A row of elements that is written from another one, or from one element (a source stride of 0).
struct Row {
  char* target;
  const char* source;
  std::int64_t count;
  std::int64_t target_stride;
  std::int64_t source_stride;
};

template <typename T>
T element_at(const char* address) {
  T value;
  std::memcpy(&value, address, sizeof value);  // elements may be unaligned
  return value;
}

// Writes one value to adjacent elements, which the compiler does in vectors.
template <typename T>
void fill_adjacent(char* target, T value, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) {
    std::memcpy(target + i * std::int64_t{sizeof value}, &value, sizeof value);
  }
}

template <typename T>
void copy_elements(const Row& row) {
  if (row.source_stride == 0 && row.target_stride == sizeof(T)) {
    return fill_adjacent(row.target, element_at<T>(row.source), row.count);
  }
  char* to = row.target;
  const char* from = row.source;
  for (std::int64_t i = 0; i < row.count; ++i) {
    const T value = element_at<T>(from);
    std::memcpy(to, &value, sizeof value);
    to += row.target_stride;
    from += row.source_stride;
  }
}

// Elements of any size.
void copy_bytes(const Row& row, std::size_t itemsize) {
  for (std::int64_t i = 0; i < row.count; ++i) {
    std::memcpy(row.target + i * row.target_stride, row.source + i * row.source_stride, itemsize);
  }
}

void copy_row(const Row& row, std::int64_t itemsize) {
  if (row.target_stride == itemsize && row.source_stride == itemsize) {
    std::memmove(row.target, row.source, static_cast<std::size_t>(row.count * itemsize));
    return;
  }
  switch (itemsize) {
    case 1:
      return copy_elements<std::uint8_t>(row);
    case 2:
      return copy_elements<std::uint16_t>(row);
    case 4:
      return copy_elements<std::uint32_t>(row);
    case 8:
      return copy_elements<std::uint64_t>(row);
    default:
      return copy_bytes(row, static_cast<std::size_t>(itemsize));
  }
}

void copy_tile(const CopyArguments& copy, char* target, const char* source, std::int64_t row_tile,
               std::int64_t column_tile) {
  const std::int64_t first = row_tile * copy.tile_rows;
  const std::int64_t last = std::min(first + copy.tile_rows, copy.rows);
  const std::int64_t left = column_tile * copy.tile_columns;
  const std::int64_t count = std::min(copy.columns - left, copy.tile_columns);
  target += left * copy.target_column;
  source += left * copy.source_column;
  for (std::int64_t i = first; i < last; ++i) {
    copy_row({target + i * copy.target_row, source + i * copy.source_row, count,
              copy.target_column, copy.source_column},
             copy.itemsize);
  }
}

void copy_block(const CopyArguments& copy, std::int64_t number) {
  const std::int64_t column_tile = number % copy.column_tiles;
  number /= copy.column_tiles;
  const std::int64_t row_tile = number % copy.row_tiles;
  number /= copy.row_tiles;
  char* target = copy.target;
  const char* source = copy.source;
  for (std::int64_t i = 0; i < copy.outer_rank; ++i) {
    const CopyArguments::Axis& axis = copy.outer()[i];
    const std::int64_t index = number % axis.extent;
    number /= axis.extent;
    target += index * axis.target;
    source += index * axis.source;
  }
  copy_tile(copy, target, source, row_tile, column_tile);
}

}  // namespace

void copy_blocks(void* arguments, LaunchRecord* launch, std::int64_t begin, std::int64_t end,
                 void*) {
  const auto& copy = *static_cast<const CopyArguments*>(arguments);
  for (std::int64_t number = begin; number < end; ++number) {
    if (launch->cancel.load(std::memory_order_relaxed) != 0) return;
    copy_block(copy, number);
  }
}

void note_time(void* arguments, LaunchRecord*, std::int64_t, std::int64_t, void*) {
  *static_cast<std::int64_t*>(arguments) = now();
}

}  // namespace tw::cpu
