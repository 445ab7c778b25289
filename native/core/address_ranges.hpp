// Ranges of addresses, each with something, found by the addresses they have in common.
//
// Ranges of about one size stand in one tree, ordered by where they begin. What meets a range
// begins in it, or before it by less than that size: so few are looked at, however many there are.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <utility>

namespace tw {

// Ranges may overlap, and come more than once. `T` is a pointer or a number; `T{}` comes before all
// that are added.
template <typename T>
class AddressRanges {
 public:
  size_t size() const { return size_; }

  // Knows the addresses from `start` to before `end`, which are some.
  void add(int64_t start, int64_t end, T what) {
    const int bits = bits_of(end - start);
    if (trees_[bits].insert({start, end, what}).second) ++size_;
    used_ |= uint64_t{1} << bits;
  }

  // Forgets a range that was added.
  void remove(int64_t start, int64_t end, T what) {
    const int bits = bits_of(end - start);
    size_ -= trees_[bits].erase({start, end, what});
    if (trees_[bits].empty()) used_ &= ~(uint64_t{1} << bits);
  }

  // Calls `visit` with what is known of ranges that have an address in common with this one, until
  // it returns true; gives whether it did. `visit` must change nothing here.
  template <typename Visit>
  bool any_meeting(int64_t start, int64_t end, const Visit& visit) const {
    for (uint64_t left = used_; left != 0; left &= left - 1) {
      const int bits = std::countr_zero(left);
      const std::set<Range>& tree = trees_[bits];
      for (auto at = tree.lower_bound(first_meeting(start, bits)); at != tree.end(); ++at) {
        if (at->start >= end) break;
        if (at->end > start && visit(at->what)) return true;
      }
    }
    return false;
  }

  // The same of the ranges that are equal to this one.
  template <typename Visit>
  bool any_equal(int64_t start, int64_t end, const Visit& visit) const {
    const std::set<Range>& tree = trees_[bits_of(end - start)];
    for (auto at = tree.lower_bound({start, end, T{}}); at != tree.end(); ++at) {
      if (at->start != start || at->end != end) break;
      if (visit(at->what)) return true;
    }
    return false;
  }

 private:
  struct Range {
    int64_t start;
    int64_t end;
    T what;

    bool operator<(const Range& other) const {
      if (start != other.start) return start < other.start;
      if (end != other.end) return end < other.end;
      return std::less<T>()(what, other.what);
    }
  };

  static int bits_of(int64_t size) { return std::bit_width(static_cast<uint64_t>(size)); }

  // Before all ranges of a size with so many bits that can reach beyond `start`.
  static Range first_meeting(int64_t start, int bits) {
    const int64_t longest = bits >= 63 ? INT64_MAX : (int64_t{1} << bits) - 1;
    int64_t first;
    if (__builtin_sub_overflow(start, longest, &first)) first = INT64_MIN;
    return {first, INT64_MIN, T{}};
  }

  std::array<std::set<Range>, 64> trees_;  // by the number of bits of the size
  uint64_t used_ = 0;                      // which of these are not empty
  size_t size_ = 0;
};

}  // namespace tw
