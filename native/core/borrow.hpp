// The fast path of borrows: whether a launch may borrow its tensors, and whether its borrows are
// still valid, decided from the records of the memory alone.
//
// The caller holds the lock of borrow state, or the GIL while no Python code runs, so nothing
// changes meanwhile. A call that returns a refusal has changed nothing, so that the slow path in
// Python starts from the same state.
#pragma once

#include "core/memory_state.hpp"
#include "core/timeline.hpp"

namespace tw {

// In place of an epoch: the borrow is of a part, and valid until `Borrow::has_ended`.
inline constexpr int64_t kByTicket = -1;
// In place of an epoch: nothing is borrowed, as raw pointers are beyond the rules; the work is only
// ordered as one that may write the memory.
inline constexpr int64_t kByPointer = -2;

// The tensors of a launch: first those it writes, then those it reads. In memory it is three rows
// of words: the addresses of their records, the epochs in which they were borrowed, and borrows
// (the exclusive ones that written tensors were derived from, or the launch's own without epoch).
class TensorUses {
 public:
  TensorUses(int64_t* words, int64_t written, int64_t count)
      : words_(words), written_(written), count_(count) {}

  static constexpr int64_t words_for(int64_t count) { return 3 * count; }

  int64_t count() const { return count_; }
  int64_t written() const { return written_; }
  bool writes(int64_t i) const { return i < written_; }
  void set_tensor(int64_t i, const TensorRecord* tensor) const {
    words_[i] = reinterpret_cast<int64_t>(tensor);
  }
  const TensorRecord& tensor(int64_t i) const {
    return *reinterpret_cast<const TensorRecord*>(words_[i]);
  }
  StorageRecord& storage(int64_t i) const { return *tensor(i).storage; }
  ByteUse bytes(int64_t i) const { return {tensor(i).start, tensor(i).end, writes(i)}; }
  int64_t& epoch(int64_t i) const { return words_[count_ + i]; }
  int64_t& owner(int64_t i) const { return words_[2 * count_ + i]; }
  bool is_by_ticket(int64_t i) const { return epoch(i) == kByTicket; }
  bool is_by_pointer(int64_t i) const { return epoch(i) == kByPointer; }

 private:
  int64_t* words_;
  int64_t written_;
  int64_t count_;
};

// What `reserve` returns in place of a number.
inline constexpr int64_t kSlowPath = -1;     // take the slow path in Python
// Python tracks work that may be finished: update that first, then call again.
inline constexpr int64_t kPendingWork = -2;

// How work begins, as bits.
inline constexpr int64_t kListed = 1;     // Python lists it
inline constexpr int64_t kFollowing = 2;  // it is ordered after all work that Python tracks
inline constexpr int64_t kExamined = 4;   // somebody has looked at all that Python alone knows

// Whether a tensor may be borrowed on the fast path.
enum class Borrowable {
  kNo,
  kYes,
  kOnceExclusiveEnds,  // it is read: once the exclusive borrow of all of its memory has ended
};

// Returns whether the i-th tensor may be borrowed, given those before it; a written one by a borrow
// derived from the exclusive borrow `uses.owner(i)`.
Borrowable may_borrow(const TensorUses& uses, int64_t i);

// Whether all of a piece of memory may surely be read: `may_borrow` finds out else.
inline bool may_surely_read(const StorageRecord& storage) {
  constexpr int64_t kReasons =
      slow_path::kWriters | slow_path::kNeighbours | slow_path::kExclusive;
  return (storage.slow_path & kReasons) == 0;
}

// Whether borrowing all of a piece of memory takes a search for the borrows that this ends.
bool needs_search(const StorageRecord& storage, bool writes);

// Whether all of a piece of memory may be borrowed for writing without a closer look.
bool may_borrow_whole(const StorageRecord& storage);

// Begins new epochs of the written tensors.
void begin_epochs(const TensorUses& uses);

// Returns whether all borrows are still valid, and their memory usable.
bool stand(const TensorUses& uses, int64_t how);

// Returns 0 if work can begin on tensors whose borrows are still valid, once its stream has waited
// for `waits`; otherwise a negative reason.
int64_t judge(const TensorUses& uses, const Timeline& timeline, int64_t how, Waits& waits);

// The same for tensors that are borrowed again by work that uses the same memory each time: a
// replay of a graph.
int64_t judge_again(const TensorUses& uses, const Timeline& timeline, Waits& waits);

// Begins new epochs of the written tensors, and takes the present epochs of the others.
void borrow_again(const TensorUses& uses);

// Begins work that `judge` accepted: marks its memory, and returns its number in its timeline.
int64_t begin(const TensorUses& uses, Timeline& timeline, int64_t how, const Waits& waits);

// Records that work which writes memory for the first time was submitted, so that later reads are
// ordered after it. Not earlier: work that is refused has written nothing.
void mark_written(const TensorUses& uses);

// Begins work whose borrows are still valid; the caller enqueues the waits before it submits the
// work. Returns its number, or a negative reason.
int64_t reserve(const TensorUses& uses, Timeline& timeline, Waits& waits);

// The same for a replay.
int64_t reborrow(const TensorUses& uses, Timeline& timeline, Waits& waits);

// The same two for work that needs no waits; otherwise they return kSlowPath.
int64_t reserve(const TensorUses& uses, Timeline& timeline, int64_t how = 0);
int64_t reborrow(const TensorUses& uses, Timeline& timeline);

// Writes the address of each tensor to its slot.
void write_addresses(const TensorUses& uses, const int64_t* places, int64_t* slots);

// Writes the addresses of tensors, and other numbers, to their places in the parameters of a
// launch; places are counted from `first`, where `parameters` points.
void write_parameters(const LaunchPlan& plan, const TensorUses& uses, const int64_t* numbers,
                      int64_t* parameters, int64_t first = 0);

inline TensorUses uses_of(const LaunchPlan& plan, int64_t* row) {
  return TensorUses(row, plan.written, plan.tensors);
}

inline TensorUses uses_of(const ReplayMemory& memory) {
  return TensorUses(memory.row, memory.written, memory.count);
}

}  // namespace tw
