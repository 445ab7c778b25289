// Memory that is kept: recycled by size, the oldest let go of first, against a list.
#include "cpu/block_cache.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/check.hpp"

using namespace tw::cpu;

namespace {

TW_TEST(sizes_are_rounded_up_by_an_eighth_at_most) {
  for (int64_t bytes = 0; bytes < 5000; ++bytes) {
    const int64_t size = BlockCache::size_class(bytes);
    TW_CHECK(bytes <= size && size % BlockCache::kAlignment == 0);
    TW_CHECK(size <= std::max<int64_t>(64, bytes + std::max<int64_t>(64, bytes / 8)));
    TW_EQUAL(BlockCache::size_class(size), size);
  }
  TW_EQUAL(BlockCache::size_class(1025), 1152);
  TW_CHECK(BlockCache::size_class(INT64_MAX) == INT64_MAX);
}

TW_TEST(blocks_are_recycled_as_in_a_list) {
  std::mt19937 random(7);
  const auto below = [&](int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random);
  };
  BlockCache cache;
  std::vector<Block> in_use, kept;  // kept: the oldest first
  int64_t next = 64, used = 0, high = 0;
  for (int i = 0; i < 20'000; ++i) {
    const int64_t drawn = below(5);
    if (drawn < 2) {
      const int64_t size = BlockCache::size_class(below(400));
      Block found{};
      const auto same = std::find_if(kept.rbegin(), kept.rend(),
                                     [&](const Block& each) { return each.size == size; });
      TW_EQUAL(cache.take(size, found), same != kept.rend());
      if (same != kept.rend()) {
        TW_EQUAL(found.address, same->address);
        kept.erase(std::next(same).base());
      } else {
        found = {nullptr, next, size, 0};
        next += size;
        cache.add(size);
      }
      in_use.push_back(found);
      used += size;
      high = std::max(high, used);
    } else if (drawn < 4 && !in_use.empty()) {
      const auto chosen = in_use.begin() + below(int64_t(in_use.size()));
      cache.give_back(*chosen);
      used -= chosen->size;
      kept.push_back(*chosen);
      in_use.erase(chosen);
    } else if (below(3) == 0) {
      Block found{};
      TW_EQUAL(cache.drop_oldest(found), !kept.empty());
      if (kept.empty()) continue;
      TW_EQUAL(found.address, kept.front().address);
      kept.erase(kept.begin());
    }
    TW_EQUAL(cache.used(), used);
    TW_EQUAL(cache.used_high(), high);
    int64_t unused = 0;
    for (const Block& each : kept) unused += each.size;
    TW_EQUAL(cache.unused(), unused);
    TW_CHECK(cache.reserved_high() >= cache.used() + cache.unused());
  }
}

}  // namespace

TW_TEST_MAIN
