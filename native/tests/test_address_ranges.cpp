// Ranges of addresses: what meets one is found, against a list of all.
#include "core/address_ranges.hpp"

#include <algorithm>
#include <random>
#include <vector>

#include "tests/check.hpp"

using tw::AddressRanges;

namespace {

struct Known {
  int64_t start;
  int64_t end;
  int64_t what;
};

std::vector<int64_t> meeting(const AddressRanges<int64_t>& ranges, int64_t start, int64_t end) {
  std::vector<int64_t> found;
  ranges.any_meeting(start, end, [&](int64_t what) {
    found.push_back(what);
    return false;
  });
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<int64_t> equal_to(const AddressRanges<int64_t>& ranges, int64_t start, int64_t end) {
  std::vector<int64_t> found;
  ranges.any_equal(start, end, [&](int64_t what) {
    found.push_back(what);
    return false;
  });
  return found;
}

TW_TEST(what_meets_a_range_is_found) {
  std::mt19937 random(7);
  const auto below = [&](int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random);
  };
  constexpr int64_t kSizes[] = {1, 2, 3, 8, 17, 64, 100, 1000};
  AddressRanges<int64_t> ranges;
  std::vector<Known> known;
  for (int64_t i = 0; i < 4000; ++i) {
    if (below(3) != 0 || known.empty()) {
      const int64_t start = below(4000);
      known.push_back({start, start + kSizes[below(8)], i + 1});
      ranges.add(known.back().start, known.back().end, known.back().what);
    } else {
      const auto chosen = known.begin() + below(int64_t(known.size()));
      ranges.remove(chosen->start, chosen->end, chosen->what);
      known.erase(chosen);
    }
    TW_EQUAL(ranges.size(), known.size());
    const int64_t start = below(5000) - 100;
    const int64_t end = start + kSizes[below(8)];
    std::vector<int64_t> expected;
    for (const Known& each : known) {
      if (each.start < end && start < each.end) expected.push_back(each.what);
    }
    std::sort(expected.begin(), expected.end());
    TW_CHECK(meeting(ranges, start, end) == expected);
  }
}

TW_TEST(ranges_side_by_side_do_not_meet) {
  AddressRanges<int64_t> ranges;
  for (int64_t start = 0; start < 64; start += 8) ranges.add(start, start + 8, start + 1);
  TW_CHECK(meeting(ranges, 16, 24) == std::vector<int64_t>({17}));
  TW_CHECK(meeting(ranges, 15, 25) == std::vector<int64_t>({9, 17, 25}));
  TW_CHECK(meeting(ranges, 64, INT64_MAX).empty());
}

TW_TEST(one_range_many_times) {
  AddressRanges<int64_t> ranges;
  for (int64_t what = 1; what <= 5; ++what) ranges.add(3, 4, what);
  ranges.add(3, 5, 6);
  TW_EQUAL(equal_to(ranges, 3, 4).size(), size_t{5});
  TW_EQUAL(equal_to(ranges, 3, 5).size(), size_t{1});
  TW_EQUAL(meeting(ranges, 3, 4).size(), size_t{6});
  ranges.remove(3, 4, 2);
  ranges.remove(3, 4, 2);
  TW_EQUAL(ranges.size(), size_t{5});
}

TW_TEST(ranges_reach_to_the_ends_of_all_addresses) {
  AddressRanges<int64_t> ranges;
  ranges.add(0, INT64_MAX, 1);
  ranges.add(INT64_MIN / 2, INT64_MIN / 2 + 1, 2);
  TW_CHECK(meeting(ranges, INT64_MAX - 1, INT64_MAX) == std::vector<int64_t>({1}));
  TW_CHECK(meeting(ranges, INT64_MIN, INT64_MAX) == std::vector<int64_t>({1, 2}));
}

TW_TEST(visits_end_when_told) {
  AddressRanges<int64_t> ranges;
  for (int64_t i = 0; i < 10; ++i) ranges.add(i, i + 2, i + 1);
  int visits = 0;
  TW_CHECK(ranges.any_meeting(0, 100, [&](int64_t) { return ++visits == 3; }));
  TW_EQUAL(visits, 3);
}

// Many take many times as long as one, and not the square of that, which would be minutes.
TW_TEST(many_ranges_are_looked_through_quickly) {
  constexpr int64_t kCount = 100'000;
  AddressRanges<int64_t> ranges;
  int64_t found = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const int64_t sizes[] = {8, 64, 1024};
    ranges.add(4096 * i, 4096 * i + sizes[i % 3], i + 1);
    found += ranges.any_meeting(4096 * i, 4096 * i + 8, [](int64_t) { return true; });
    found += ranges.any_meeting(4096 * i + 3000, 4096 * i + 3008, [](int64_t) { return true; });
  }
  TW_EQUAL(found, kCount);
}

}  // namespace

TW_TEST_MAIN
