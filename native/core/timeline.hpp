// The work of a stream by number: issued, submitted, over; and who must wait for whom.
//
// Whoever calls holds the lock of borrow state, or the interpreter's while no Python runs.
#pragma once

#include <array>

#include "core/records.hpp"

namespace tw {

// A number was given out, to work that Python lists or does not.
void issue(Timeline& timeline, int64_t number, bool listed);

// One more has been put on the stream, or will not be.
inline void submitted(Timeline& timeline) { --timeline.unsubmitted; }

// All that was put on the stream up to a number is over, but for what Python lists.
void pass(Timeline& timeline, int64_t number);

// Finds up to which number all are over, and gives that.
int64_t reap(Timeline& timeline);

// The timelines whose work so far comes before work that is about to begin.
class Waits {
 public:
  bool empty() const { return count_ == 0; }
  const Timeline* const* begin() const { return timelines_.data(); }
  const Timeline* const* end() const { return timelines_.data() + count_; }
  bool contains(const Timeline* timeline) const;

  // False: there is no room for more.
  bool add(const Timeline* timeline);

 private:
  // More than a launch waits for: it has few tensors that many streams use.
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

// Sees to it that work of a timeline comes after what a mark names: adds a wait where it must.
// False: that takes more than a wait of its stream for another.
bool order_after(const Mark& mark, const Timeline& timeline, Waits& waits);

// The same for all that a use of some memory comes after; and sees to it that it can be noted.
bool order_after_uses(StorageRecord& storage, const ByteUse& use, const Timeline& timeline,
                      Waits& waits);

// Notes work over a piece of memory, which is ordered with these waits.
void note_beside_others(StorageRecord& storage, const ByteUse& use, Timeline& timeline,
                        int64_t number, const Waits& waits);

inline void note(StorageRecord& storage, const ByteUse& use, Timeline& timeline, int64_t number,
                 const Waits& waits) {
  const bool is_alone = storage.marked == 0 || (storage.marked == 1 && is_over(storage.marks[0]));
  if (!is_alone) return note_beside_others(storage, use, timeline, number, waits);
  storage.marked = 1;
  storage.marks[0] = Mark{&timeline, number, use};
}

}  // namespace tw
