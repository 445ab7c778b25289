// Timelines: the work of a stream by number (issued, submitted, finished), and the waits between
// streams.
//
// A timeline is the counter of one stream, as a Vulkan timeline semaphore is: work n is finished
// once `over >= n`. A piece of memory has a few marks, each a use of it by work of one timeline.
// New work waits for the timelines of the marks that it conflicts with. Ordering by timeline
// instead of by single work is coarser than a vector clock per buffer, but needs constant space.
//
// The caller holds the lock of borrow state, or the GIL while no Python code runs.
#pragma once

#include <algorithm>
#include <array>

#include "core/records.hpp"

namespace tw {

// Records that a number was issued, for work that Python lists (keeps objects for) or does not.
void issue(Timeline& timeline, int64_t number, bool listed);

// Records that one more piece of issued work was enqueued, or never will be.
inline void submitted(Timeline& timeline) { --timeline.unsubmitted; }

// Records that all work up to a number is finished, except work that Python lists.
void pass(Timeline& timeline, int64_t number);

// Updates and returns the number up to which all work is finished.
int64_t reap(Timeline& timeline);

// The timelines that work which is about to begin waits for.
class Waits {
 public:
  Waits() {}  // does not write the room for timelines
  Waits(const Waits& other) { *this = other; }
  Waits& operator=(const Waits& other) {
    std::copy(other.begin(), other.end(), timelines_.begin());
    count_ = other.count_;
    return *this;
  }

  bool empty() const { return count_ == 0; }
  const Timeline* const* begin() const { return timelines_.data(); }
  const Timeline* const* end() const { return timelines_.data() + count_; }
  bool contains(const Timeline* timeline) const;

  // Returns false if there is no room.
  bool add(const Timeline* timeline);

 private:
  // More than a launch needs: few of its tensors are in use by many streams. The fixed size keeps
  // the fast path free of allocations.
  static constexpr size_t kMost = 32;
  std::array<const Timeline*, kMost> timelines_;
  size_t count_ = 0;
};

inline bool is_over(const Mark& mark) { return mark.timeline->over >= mark.number; }

// Whether work of a timeline need not wait for what a mark names: that is over, or comes before it
// on the same stream for certain.
inline bool is_ordered(const Mark& mark, const Timeline& timeline) {
  if (mark.timeline == nullptr || is_over(mark)) return true;
  return mark.timeline == &timeline && timeline.unsubmitted == 0;
}

// Whether what is noted with memory is one piece of work that is ordered so, or nothing: mostly.
inline bool is_surely_ordered(const StorageRecord& storage, const Timeline& timeline) {
  return storage.marked == 0 || (storage.marked == 1 && is_ordered(storage.marks[0], timeline));
}

// Orders work of a timeline after a mark, and adds a wait if one is needed. Returns false if a wait
// of one stream for another does not suffice.
bool order_after(const Mark& mark, const Timeline& timeline, Waits& waits);

// Orders work after all conflicting marks of a piece of memory, and ensures that its own use can be
// noted.
bool order_after_uses(StorageRecord& storage, const ByteUse& use, const Timeline& timeline,
                      Waits& waits);

// Notes work over a piece of memory, which is ordered with these waits.
void note_beside_others(StorageRecord& storage, const ByteUse& use, Timeline& timeline,
                        int64_t number, const Waits& waits);

inline void note(StorageRecord& storage, const ByteUse& use, Timeline& timeline, int64_t number,
                 const Waits& waits) {
  const bool is_alone = storage.marked == 0 || (storage.marked == 1 && is_over(storage.marks[0]));
  if (!is_alone) [[unlikely]] return note_beside_others(storage, use, timeline, number, waits);
  storage.marked = 1;
  storage.marks[0] = Mark{&timeline, number, use};
}

}  // namespace tw
