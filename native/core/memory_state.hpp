// Who may use a piece of memory: borrows of all of it and of parts, and which a use ends.
//
// A shared borrow stands until its memory is borrowed exclusively; an exclusive one until any other
// use, except those that come out of it. A shared borrow of all of the memory is no more than the
// epoch, which each exclusive use advances; of exclusive borrows of all of it there is one, with
// those it came out of; borrows of parts are listed. The lists hold no references: a borrow that is
// destroyed leaves them.
//
// Whoever calls holds the lock of borrow state, or the interpreter's while no Python runs.
#pragma once

#include <vector>

#include "core/records.hpp"

namespace tw {

// A range of addresses, of which some may not be part of it.
struct Extent {
  int64_t start;
  int64_t end;
  bool is_dense;  // whether it is all bytes from start to end
  Object object;  // who knows the gaps

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
  Borrow* parent;        // which one it came out of; null: none. It outlives this one.
  const Extent* extent;  // null: all of the memory
  Borrow* previous;      // in the list of borrows of parts
  Borrow* next;
  int64_t epoch;     // in which it was taken
  bool is_exclusive;
  bool is_by_epoch;  // it stands while the epoch is the same, and no longer than its parent
  bool has_ended;

  bool is_listed() const { return previous != nullptr; }
  // Whether it is the other one, or came out of it, directly or not.
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
  Borrow* exclusive;  // the latest exclusive borrow of all of the memory that stands; null: none
  BorrowList writers;  // exclusive borrows of parts
  BorrowList readers;  // shared borrows of parts

  void set_exclusive(Borrow* borrow);
  // Notes in the record whether parts are borrowed.
  void note_parts();
};

// A use of memory, and what it leaves standing.
struct MemoryUse {
  const Extent* extent;  // null: all of the memory
  const Borrow* spared;  // what this and those it came out of are not ended by; null: none
  bool writes;
  Borrow* heir;  // whose all of the memory is then; null: nobody's
};

// Ends the borrows that a use conflicts with, and adds them to `ended`.
void end_conflicting(MemoryState& state, const MemoryUse& use, MeetsWithGaps meets,
                     std::vector<Borrow*>& ended);

// A borrow is destroyed: the one that it came out of stands again.
void abandon(Borrow& borrow);

}  // namespace tw
