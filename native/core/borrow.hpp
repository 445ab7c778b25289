// Borrows of memory by its records: whether they may begin, and whether they still stand.
//
// Whoever calls holds the lock of borrow state, or the interpreter's while no Python runs, so
// nothing changes meanwhile. Where the answer is a refusal, nothing has been changed.
#pragma once

#include "core/memory_state.hpp"
#include "core/timeline.hpp"

namespace tw {

// In place of an epoch: the borrow is of a part, and stands until it has ended.
inline constexpr int64_t kByTicket = -1;

// The tensors of a launch: first those it writes, then those it reads. In memory, their records'
// addresses, the epochs in which they were borrowed, and borrows: the exclusive ones that those it
// writes came out of, or, where there is no epoch, the launch's own.
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

 private:
  int64_t* words_;
  int64_t written_;
  int64_t count_;
};

// What `reserve` gives in place of a number.
inline constexpr int64_t kSlowPath = -1;     // Python must look closer
// Python keeps an account of work that may be over: let it look through that, and ask again.
inline constexpr int64_t kPendingWork = -2;

// How work begins, as bits.
inline constexpr int64_t kListed = 1;     // Python lists it
inline constexpr int64_t kFollowing = 2;  // it comes after all that Python keeps account of

// Whether a tensor may be borrowed without a closer look.
enum class Borrowable {
  kNo,
  kYes,
  kOnceExclusiveEnds,  // it is read: once the exclusive borrow of all of its memory has ended
};

// The same of the i-th tensor, given those before it; where it is written, by what came out of the
// exclusive borrow `uses.owner(i)`.
Borrowable may_borrow(const TensorUses& uses, int64_t i);

// Whether all of a piece of memory may surely be read: `may_borrow` finds out else.
inline bool may_surely_read(const StorageRecord& storage) {
  constexpr int64_t kReasons =
      slow_path::kWriters | slow_path::kNeighbours | slow_path::kExclusive;
  return (storage.slow_path & kReasons) == 0;
}

// Whether all of a piece of memory may be borrowed for writing without a closer look.
bool may_borrow_whole(const StorageRecord& storage);

// Begins new epochs of what is written.
void begin_epochs(const TensorUses& uses);

// Whether work can begin on tensors whose borrows still stand, once its stream waits for some
// others: 0, or below 0 why not.
int64_t judge(const TensorUses& uses, const Timeline& timeline, int64_t how, Waits& waits);

// The same where tensors are borrowed again, for work that uses the same memory each time: a
// replay.
int64_t judge_again(const TensorUses& uses, const Timeline& timeline, Waits& waits);

// Begins new epochs of what is written, and takes the others as they are.
void borrow_again(const TensorUses& uses);

// Begins work that was judged: notes it with its memory. Gives its number in its timeline.
int64_t begin(const TensorUses& uses, Timeline& timeline, int64_t how, const Waits& waits);

// Notes that work which writes memory for the first time has been submitted: whoever reads it from
// now on comes after that. Not before: work that is refused has written nothing.
void mark_written(const TensorUses& uses);

// Begins work whose borrows still stand, once its stream waits for some others, which the caller
// sees to before it submits the work. Gives its number, or below 0 why that could not be.
int64_t reserve(const TensorUses& uses, Timeline& timeline, Waits& waits);

// The same for a replay.
int64_t reborrow(const TensorUses& uses, Timeline& timeline, Waits& waits);

// The same two for work that does not wait: where it must, Python looks closer.
int64_t reserve(const TensorUses& uses, Timeline& timeline, int64_t how = 0);
int64_t reborrow(const TensorUses& uses, Timeline& timeline);

// Writes the address of each tensor to the place there is for it.
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
