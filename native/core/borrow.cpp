#include "core/borrow.hpp"

#include <algorithm>

namespace tw {

namespace {

// Bits of `StorageRecord::slow_path` that keep a use from the fast path: a borrow of some part, or
// memory shared with a neighbour, may conflict, which only a search of the lists can decide.
constexpr int64_t kUnclear = slow_path::kWriters | slow_path::kNeighbours;
constexpr int64_t kUnwritable =
    kUnclear | slow_path::kLeases | slow_path::kWriteLeases | slow_path::kNoMemory;
// What others only see may still be read.
constexpr int64_t kUnreadable =
    slow_path::kAll & ~(slow_path::kPendingWork | slow_path::kReaders | slow_path::kLeases);
// Why memory cannot be borrowed again without a search for whom that concerns.
constexpr int64_t kUnclaimed =
    kUnwritable | slow_path::kUnwritten | slow_path::kExclusive | slow_path::kReaders;

bool has(const StorageRecord& storage, int64_t reasons) {
  return (storage.slow_path & reasons) != 0;
}

// The same of a borrow that is exact: whom it concerns that others borrow parts is known.
constexpr int64_t kUnreadableByTicket = slow_path::kNeighbours | slow_path::kWriteLeases |
                                        slow_path::kNoMemory | slow_path::kUnwritten;
constexpr int64_t kUnwritableByTicket = kUnreadableByTicket | slow_path::kLeases;

// What remains a reason where somebody has looked at leases, neighbours, and what was written.
int64_t left_of(int64_t reasons, int64_t how) {
  return (how & kExamined) != 0 ? reasons & slow_path::kNoMemory : reasons;
}

bool stands_by_ticket(const TensorUses& uses, int64_t i, int64_t how) {
  const auto& borrow = *reinterpret_cast<const Borrow*>(uses.owner(i));
  const int64_t reasons = uses.writes(i) ? kUnwritableByTicket : kUnreadableByTicket;
  return !borrow.has_ended && !has(uses.storage(i), left_of(reasons, how));
}

// Returns whether the borrow of a tensor is still valid, and its memory usable.
bool stands(const TensorUses& uses, int64_t i, int64_t how) {
  if (uses.is_by_ticket(i)) return stands_by_ticket(uses, i, how);
  const StorageRecord& storage = uses.storage(i);
  // Work that uses a neighbour is noted there: Python orders that.
  if (uses.is_by_pointer(i)) {
    return !has(storage, left_of(slow_path::kNeighbours | slow_path::kNoMemory, how));
  }
  // Any exclusive use since the borrow has advanced the epoch.
  if (storage.epoch != uses.epoch(i)) return false;
  if (!uses.writes(i)) return !has(storage, left_of(kUnreadable, how));
  return !has(storage, left_of(kUnwritable, how)) && storage.owner == uses.owner(i);
}

// Returns 0 if memory can be used by work of a timeline after `waits`; otherwise a reason.
int64_t readiness(const TensorUses& uses, int64_t i, const Timeline& timeline, bool follows,
                  Waits& waits) {
  StorageRecord& storage = uses.storage(i);
  if (has(storage, slow_path::kPendingWork) && !follows) return kPendingWork;
  if (is_surely_ordered(storage, timeline)) return 0;
  return order_after_uses(storage, uses.bytes(i), timeline, waits) ? 0 : kSlowPath;
}

// Returns 0, or the reason of the first tensor that is refused. Then `waits` is emptied: a refusal
// must have no effect.
template <typename Judge>
int64_t judge_each(const TensorUses& uses, Waits& waits, const Judge& judge) {
  for (int64_t i = 0; i < uses.count(); ++i) {
    const int64_t refused = judge(i);
    if (refused == 0) continue;
    waits = Waits();
    return refused;
  }
  return 0;
}

// Quadratic, but launches have few tensors and this is one comparison each.
bool is_written_before(const TensorUses& uses, int64_t i) {
  const StorageRecord* storage = &uses.storage(i);
  for (int64_t k = 0; k < std::min(i, uses.written()); ++k) {
    if (&uses.storage(k) == storage && !uses.is_by_pointer(k)) return true;
  }
  return false;
}

}  // namespace

bool needs_search(const StorageRecord& storage, bool writes) {
  return has(storage, writes ? kUnclear | slow_path::kReaders : kUnclear);
}

bool may_borrow_whole(const StorageRecord& storage) {
  return !has(storage, kUnclear | slow_path::kReaders);
}

Borrowable may_borrow(const TensorUses& uses, int64_t i) {
  const StorageRecord& storage = uses.storage(i);
  const auto if_so = [](bool may) { return may ? Borrowable::kYes : Borrowable::kNo; };
  if (uses.writes(i)) {
    return if_so(may_borrow_whole(storage) && storage.owner == uses.owner(i) &&
                 !is_written_before(uses, i));
  }
  if (has(storage, kUnclear)) return Borrowable::kNo;
  if (!has(storage, slow_path::kExclusive)) return Borrowable::kYes;
  // A launch must not read what it writes: the slow path reports it.
  return is_written_before(uses, i) ? Borrowable::kNo : Borrowable::kOnceExclusiveEnds;
}

void begin_epochs(const TensorUses& uses) {
  for (int64_t i = 0; i < uses.written(); ++i) {
    if (!uses.is_by_ticket(i)) uses.epoch(i) = ++uses.storage(i).epoch;
  }
}

void borrow_again(const TensorUses& uses) {
  begin_epochs(uses);
  for (int64_t i = uses.written(); i < uses.count(); ++i) uses.epoch(i) = uses.storage(i).epoch;
}

// Whether `judge` surely finds nothing against the i-th tensor, by no more than a look.
inline bool is_surely_ready(const TensorUses& uses, int64_t i, const Timeline& timeline) {
  const StorageRecord& storage = uses.storage(i);
  const bool writes = uses.writes(i);
  const int64_t reasons = slow_path::kPendingWork | (writes ? kUnwritable : kUnreadable);
  // A borrow of a part has no epoch that any memory has.
  return storage.epoch == uses.epoch(i) && !has(storage, reasons) &&
         (!writes || storage.owner == uses.owner(i)) && is_surely_ordered(storage, timeline);
}

bool stand(const TensorUses& uses, int64_t how) {
  for (int64_t i = 0; i < uses.count(); ++i) {
    if (!stands(uses, i, how)) return false;
  }
  return true;
}

int64_t judge(const TensorUses& uses, const Timeline& timeline, int64_t how, Waits& waits) {
  int64_t ready = 0;
  while (ready < uses.count() && is_surely_ready(uses, ready, timeline)) ++ready;
  if (ready == uses.count()) return 0;
  const bool follows = (how & kFollowing) != 0;
  return judge_each(uses, waits, [&](int64_t i) {
    if (!stands(uses, i, how)) return kSlowPath;
    return readiness(uses, i, timeline, follows, waits);
  });
}

int64_t judge_again(const TensorUses& uses, const Timeline& timeline, Waits& waits) {
  return judge_each(uses, waits, [&](int64_t i) {
    const StorageRecord& storage = uses.storage(i);
    if (has(storage, uses.writes(i) ? kUnclaimed : kUnreadable)) return kSlowPath;
    return readiness(uses, i, timeline, false, waits);
  });
}

void mark_written(const TensorUses& uses) {
  for (int64_t i = 0; i < uses.written(); ++i) {
    // Of memory that was written in part, Python knows which.
    if (!uses.is_by_ticket(i)) uses.storage(i).slow_path &= ~slow_path::kUnwritten;
  }
}

int64_t begin(const TensorUses& uses, Timeline& timeline, int64_t how, const Waits& waits) {
  const int64_t number = timeline.issued + 1;
  for (int64_t i = 0; i < uses.count(); ++i) {
    note(uses.storage(i), uses.bytes(i), timeline, number, waits);
  }
  issue(timeline, number, (how & kListed) != 0);
  return number;
}

int64_t reserve(const TensorUses& uses, Timeline& timeline, Waits& waits) {
  const int64_t refused = judge(uses, timeline, 0, waits);
  return refused != 0 ? refused : begin(uses, timeline, 0, waits);
}

int64_t reborrow(const TensorUses& uses, Timeline& timeline, Waits& waits) {
  const int64_t refused = judge_again(uses, timeline, waits);
  if (refused != 0) return refused;
  borrow_again(uses);
  return begin(uses, timeline, 0, waits);
}

int64_t reserve(const TensorUses& uses, Timeline& timeline, int64_t how) {
  Waits waits;
  const int64_t refused = judge(uses, timeline, how, waits);
  if (refused != 0) return refused;
  return waits.empty() ? begin(uses, timeline, how, waits) : kSlowPath;
}

int64_t reborrow(const TensorUses& uses, Timeline& timeline) {
  Waits waits;
  const int64_t refused = judge_again(uses, timeline, waits);
  if (refused != 0) return refused;
  if (!waits.empty()) return kSlowPath;
  borrow_again(uses);
  return begin(uses, timeline, 0, waits);
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
