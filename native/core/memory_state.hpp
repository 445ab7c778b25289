// Borrow state of a piece of memory: borrows of all of it and of parts, and which of them a use
// ends. The rules are similar to stacked borrows (Jung et al., 2020), checked at run time.
//
// A shared borrow is valid until its memory is borrowed exclusively; an exclusive one until any
// other use, except uses derived from it. A shared borrow of all of the memory is just the epoch at
// which it was taken: each exclusive use advances the epoch, which invalidates all of them in O(1).
// There is at most one exclusive borrow of all of the memory, with its chain of parents. Borrows of
// parts are in intrusive lists, which hold no references: a borrow that is destroyed leaves them.
//
// The caller holds the lock of borrow state, or the GIL while no Python code runs.
#pragma once

#include <vector>

#include "core/records.hpp"

namespace tw {

// A range of addresses, possibly with gaps (a strided view).
struct Extent {
  int64_t start;
  int64_t end;
  bool is_dense;  // whether it is all bytes from start to end
  Object object;  // the Python object that knows the gaps

  bool is_empty() const { return start >= end; }
  bool overlaps(const Extent& other) const { return start < other.end && other.start < end; }
};

// Whether two extents that overlap have a byte in common, of which one at least has gaps.
using MeetsWithGaps = bool (*)(const Extent&, const Extent&);

// Whether two extents have a byte in common.
bool meet(const Extent& one, const Extent& other, MeetsWithGaps meets);

struct MemoryState;

// One borrow. Zeroed memory is a borrow of nothing.
struct Borrow {
  MemoryState* memory;
  Borrow* parent;        // the borrow it was derived from; null: none. It outlives this one.
  const Extent* extent;  // null: all of the memory
  Borrow* previous;      // in the list of borrows of parts
  Borrow* next;
  int64_t epoch;     // in which it was taken
  bool is_exclusive;
  bool is_by_epoch;  // it is valid while the epoch is the same, and no longer than its parent
  bool has_ended;

  bool is_listed() const { return previous != nullptr; }
  // Returns whether it is the other one, or derived from it, directly or not.
  bool comes_from(const Borrow& other) const;
};

// A list of borrows that does not keep them; the head is no borrow of anything.
struct BorrowList {
  Borrow head;

  bool is_empty() const { return head.next == nullptr || head.next == &head; }
  void add(Borrow& borrow);
};

// Takes a borrow out of its list, if it is in one.
void unlist(Borrow& borrow);

struct MemoryState {
  StorageRecord record;
  Borrow* exclusive;  // the latest valid exclusive borrow of all of the memory; null: none
  BorrowList writers;  // exclusive borrows of parts
  BorrowList readers;  // shared borrows of parts

  void set_exclusive(Borrow* borrow);
  // Notes in the record whether parts are borrowed.
  void note_parts();
};

// A use of memory, and the borrows that it does not end.
struct MemoryUse {
  const Extent* extent;  // null: all of the memory
  const Borrow* spared;  // this borrow and its ancestors are not ended; null: none
  bool writes;
  Borrow* heir;  // the new exclusive borrow of all of the memory; null: none
};

// Ends the borrows that a use conflicts with, and adds them to `ended`.
void end_conflicting(MemoryState& state, const MemoryUse& use, MeetsWithGaps meets,
                     std::vector<Borrow*>& ended);

// Removes a borrow that is destroyed; its parent becomes the latest one again.
void abandon(Borrow& borrow);

}  // namespace tw
