// The work of a stream by number: issued, submitted, over; and who must wait for whom.
//
// Whoever calls holds the lock of borrow state, or the interpreter's while no Python runs.
#pragma once

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

// Whether work of a timeline need not wait for what a mark names: that is over, or comes before it
// on the same stream for certain.
bool is_ordered(const Mark& mark, const Timeline& timeline);

// Whether work of a timeline need not wait for any reader of some memory.
bool reads_are_ordered(const StorageRecord& storage, const Timeline& timeline);

// Where a read by a timeline can be noted; null: nowhere.
Mark* read_place(StorageRecord& storage, const Timeline& timeline);

// Notes work over a piece of memory, for which there is a place.
void note(StorageRecord& storage, bool writes, Timeline& timeline, int64_t number);

}  // namespace tw
