// Copies and fills against loops over single bytes.
#include "cpu/copy.hpp"

#include <cstring>
#include <random>
#include <vector>

#include "check.hpp"
#include "core/clock.hpp"

using namespace tw::cpu;

namespace {

using Axis = CopyArguments::Axis;

struct Copy {
  std::int64_t itemsize;
  Axis rows;
  Axis columns;
  std::vector<Axis> outer;
  std::int64_t tile_rows;
  std::int64_t tile_columns;
};

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// The words of a copy, and how many blocks it has.
std::vector<std::int64_t> words_of(const Copy& copy, char* target, const char* source,
                                   std::int64_t& blocks) {
  CopyArguments head{};
  head.target = target;
  head.source = source;
  head.itemsize = copy.itemsize;
  head.rows = copy.rows.extent;
  head.columns = copy.columns.extent;
  head.target_row = copy.rows.target;
  head.target_column = copy.columns.target;
  head.source_row = copy.rows.source;
  head.source_column = copy.columns.source;
  head.tile_rows = copy.tile_rows;
  head.tile_columns = copy.tile_columns;
  head.row_tiles = ceil_div(head.rows, copy.tile_rows);
  head.column_tiles = ceil_div(head.columns, copy.tile_columns);
  head.outer_rank = static_cast<std::int64_t>(copy.outer.size());
  std::vector<std::int64_t> words(sizeof head / 8 + 3 * copy.outer.size());
  std::memcpy(words.data(), &head, sizeof head);
  blocks = head.row_tiles * head.column_tiles;
  std::int64_t* at = words.data() + sizeof head / 8;
  for (const Axis& axis : copy.outer) {
    *at++ = axis.extent;
    *at++ = axis.target;
    *at++ = axis.source;
    blocks *= axis.extent;
  }
  return words;
}

// The same, element by element.
void copy_plainly(const Copy& copy, char* target, const char* source, std::size_t axis = 0) {
  if (axis < copy.outer.size()) {
    const Axis& its = copy.outer[axis];
    for (std::int64_t i = 0; i < its.extent; ++i) {
      copy_plainly(copy, target + i * its.target, source + i * its.source, axis + 1);
    }
    return;
  }
  for (std::int64_t i = 0; i < copy.rows.extent; ++i) {
    for (std::int64_t j = 0; j < copy.columns.extent; ++j) {
      for (std::int64_t byte = 0; byte < copy.itemsize; ++byte) {
        target[i * copy.rows.target + j * copy.columns.target + byte] =
            source[i * copy.rows.source + j * copy.columns.source + byte];
      }
    }
  }
}

void check_copy(const Copy& copy, std::size_t bytes) {
  std::vector<char> source(bytes), got(bytes, 7), expected(bytes, 7);
  for (std::size_t i = 0; i < bytes; ++i) source[i] = static_cast<char>(31 * i + i / 256);
  std::int64_t blocks = 0;
  std::vector<std::int64_t> words = words_of(copy, got.data(), source.data(), blocks);
  LaunchRecord launch{};
  copy_blocks(words.data(), &launch, 0, blocks / 2, nullptr);
  copy_blocks(words.data(), &launch, blocks / 2, blocks, nullptr);
  copy_plainly(copy, expected.data(), source.data());
  TW_CHECK(got == expected);
}

}  // namespace

TW_TEST(copies_of_all_kinds) {
  std::mt19937 random(1);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % n); };
  for (int round = 0; round < 400; ++round) {
    const std::int64_t sizes[] = {1, 2, 4, 8, 16, 3};
    const std::int64_t itemsize = sizes[below(6)];
    const std::int64_t rows = 1 + below(9), columns = 1 + below(70);
    const std::int64_t outer = 1 + below(3), outermost = 1 + below(3);
    // Rows side by side, or apart; one source for all, or the same elements turned round.
    const std::int64_t gap = itemsize * below(3);
    const std::int64_t row = columns * (itemsize + gap), block = rows * row;
    const std::int64_t kind = below(4);
    const Axis source_of_rows = {rows, row, kind == 1 ? itemsize : row};
    const Axis source_of_columns = {
        columns, itemsize + gap,
        kind == 0 ? 0 : kind == 1 ? rows * itemsize : kind == 2 ? itemsize : itemsize + gap};
    check_copy({itemsize,
                source_of_rows,
                source_of_columns,
                {{outer, block, block}, {outermost, outer * block, kind == 0 ? 0 : outer * block}},
                1 + below(rows),
                1 + below(columns)},
               static_cast<std::size_t>(outermost * outer * block + rows * columns * itemsize));
  }
}

TW_TEST(rows_may_run_backwards) {
  std::vector<std::int32_t> source = {1, 2, 3, 4, 5}, target(5);
  const Copy copy = {4, {1, 0, 0}, {5, 4, -4}, {}, 1, 5};
  std::int64_t blocks = 0;
  auto words = words_of(copy, reinterpret_cast<char*>(target.data()),
                        reinterpret_cast<char*>(source.data() + 4), blocks);
  LaunchRecord launch{};
  copy_blocks(words.data(), &launch, 0, blocks, nullptr);
  TW_CHECK((target == std::vector<std::int32_t>{5, 4, 3, 2, 1}));
}

TW_TEST(a_cancelled_copy_writes_nothing) {
  std::vector<char> source(64, 1), target(64, 0);
  std::int64_t blocks = 0;
  auto words = words_of({1, {8, 8, 8}, {8, 1, 1}, {}, 1, 8}, target.data(), source.data(), blocks);
  LaunchRecord launch{};
  launch.cancel = 1;
  copy_blocks(words.data(), &launch, 0, blocks, nullptr);
  TW_CHECK(target == std::vector<char>(64, 0));
}

TW_TEST(the_time_is_noted) {
  std::int64_t time = 0;
  LaunchRecord launch{};
  const std::int64_t before = now();
  note_time(&time, &launch, 0, 1, nullptr);
  TW_CHECK(before <= time && time <= now());
}

TW_TEST_MAIN
