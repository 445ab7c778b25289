#include "core/borrow.hpp"

namespace tw {

namespace {

// Why reading is no mere look at the epoch.
constexpr int64_t kUnshared = slow_path::kExclusive | slow_path::kWriters | slow_path::kNeighbours;
// Why writing must be looked at closer before it is known with what.
constexpr int64_t kUnclear = slow_path::kWriters | slow_path::kNeighbours;
constexpr int64_t kUnwritable = kUnclear | slow_path::kLeases | slow_path::kNoMemory;
constexpr int64_t kUnreadable = slow_path::kAll & ~(slow_path::kPendingWork | slow_path::kReaders);
// The same for work that is not listed: should it be refused, nothing was written.
constexpr int64_t kUnwritableUnlisted = kUnwritable | slow_path::kUnwritten;
// Why memory cannot be borrowed again without a search for whom that concerns.
constexpr int64_t kUnclaimed = kUnwritableUnlisted | slow_path::kExclusive | slow_path::kReaders;

bool has(const StorageRecord& storage, int64_t reasons) {
  return (storage.slow_path & reasons) != 0;
}

// Whether the borrow of a tensor stands, and its memory can be used for that.
bool stands(const TensorUses& uses, int64_t i, int64_t unwritable) {
  const StorageRecord& storage = uses.storage(i);
  if (storage.epoch != uses.epoch(i)) return false;
  if (!uses.writes(i)) return !has(storage, kUnreadable);
  return !has(storage, unwritable) && storage.owner == uses.owner(i);
}

// Whether memory can be used as it is by work of a timeline: 0, or as `reserve` says.
int64_t readiness(StorageRecord& storage, bool writes, const Timeline& timeline, bool follows) {
  if (has(storage, slow_path::kPendingWork) && !follows) return kPendingWork;
  if (!is_ordered(storage.write, timeline)) return kSlowPath;
  const bool ready = writes ? reads_are_ordered(storage, timeline)
                            : read_place(storage, timeline) != nullptr;
  return ready ? 0 : kSlowPath;
}

// Notes work with its memory; its number in its timeline.
int64_t begin(const TensorUses& uses, Timeline& timeline, bool listed) {
  const int64_t number = timeline.issued + 1;
  for (int64_t i = 0; i < uses.count(); ++i) {
    note(uses.storage(i), uses.writes(i), timeline, number);
  }
  issue(timeline, number, listed);
  return number;
}

bool is_among_those_before(const TensorUses& uses, int64_t i) {
  const StorageRecord* storage = &uses.storage(i);
  for (int64_t k = 0; k < i; ++k) {
    if (&uses.storage(k) == storage) return true;
  }
  return false;
}

}  // namespace

bool may_borrow_whole(const StorageRecord& storage) {
  return !has(storage, kUnclear | slow_path::kReaders);
}

bool may_borrow(const TensorUses& uses, int64_t i) {
  const StorageRecord& storage = uses.storage(i);
  if (!uses.writes(i)) return !has(storage, kUnshared);
  return may_borrow_whole(storage) && storage.owner == uses.owner(i) &&
         !is_among_those_before(uses, i);
}

void begin_epochs(const TensorUses& uses) {
  for (int64_t i = 0; i < uses.written(); ++i) uses.epoch(i) = ++uses.storage(i).epoch;
}

int64_t reserve(const TensorUses& uses, Timeline& timeline, int64_t how) {
  const bool listed = (how & kListed) != 0;
  const bool follows = (how & kFollowing) != 0;
  for (int64_t i = 0; i < uses.count(); ++i) {
    if (!stands(uses, i, listed ? kUnwritable : kUnwritableUnlisted)) return kSlowPath;
    const int64_t refused = readiness(uses.storage(i), uses.writes(i), timeline, follows);
    if (refused != 0) return refused;
  }
  return begin(uses, timeline, listed);
}

int64_t reborrow(const TensorUses& uses, Timeline& timeline) {
  for (int64_t i = 0; i < uses.count(); ++i) {
    StorageRecord& storage = uses.storage(i);
    if (has(storage, uses.writes(i) ? kUnclaimed : kUnreadable)) return kSlowPath;
    const int64_t refused = readiness(storage, uses.writes(i), timeline, false);
    if (refused != 0) return refused;
  }
  begin_epochs(uses);
  for (int64_t i = uses.written(); i < uses.count(); ++i) uses.epoch(i) = uses.storage(i).epoch;
  return begin(uses, timeline, false);
}

void write_addresses(const TensorUses& uses, const int64_t* places, int64_t* slots) {
  for (int64_t i = 0; i < uses.count(); ++i) slots[places[i]] = uses.tensor(i).address;
}

void write_parameters(const LaunchPlan& plan, const TensorUses& uses, const int64_t* numbers,
                      int64_t* parameters, int64_t first) {
  for (int64_t i = 0; i < plan.tensors; ++i) {
    parameters[plan.tensor_places[i] - first] = uses.tensor(i).address;
  }
  for (int64_t i = 0; i < plan.numbers; ++i) parameters[plan.number_places[i] - first] = numbers[i];
}

}  // namespace tw
