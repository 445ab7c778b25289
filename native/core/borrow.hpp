// Borrows of memory by its records: whether they may begin, and whether they still stand.
//
// Whoever calls holds the lock of borrow state, or the interpreter's while no Python runs, so
// nothing changes meanwhile. Where the answer is a refusal, nothing has been changed.
#pragma once

#include "core/records.hpp"
#include "core/timeline.hpp"

namespace tw {

// The tensors of a launch: first those it writes, then those it reads. In memory, their records'
// addresses, the epochs in which they were borrowed, and the exclusive borrows of those it writes.
class TensorUses {
 public:
  TensorUses(int64_t* words, int64_t written, int64_t count)
      : words_(words), written_(written), count_(count) {}

  static constexpr int64_t words_for(int64_t written, int64_t count) { return 2 * count + written; }

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
  int64_t& epoch(int64_t i) const { return words_[count_ + i]; }
  int64_t& owner(int64_t i) const { return words_[2 * count_ + i]; }

 private:
  int64_t* words_;
  int64_t written_;
  int64_t count_;
};

// What `reserve` gives in place of a number.
inline constexpr int64_t kSlowPath = -1;  // Python must look closer
// Python keeps an account of work that may be over: let it look through that, and ask again.
inline constexpr int64_t kPendingWork = -2;

// How work begins, as bits.
inline constexpr int64_t kListed = 1;     // Python lists it
inline constexpr int64_t kFollowing = 2;  // it comes after all that Python keeps account of

// Whether the i-th tensor may be borrowed without a closer look, given those before it; where it is
// written, by what came out of the exclusive borrow `uses.owner(i)`.
bool may_borrow(const TensorUses& uses, int64_t i);

// Whether all of a piece of memory may be borrowed for writing without a closer look.
bool may_borrow_whole(const StorageRecord& storage);

// Begins new epochs of what is written.
void begin_epochs(const TensorUses& uses);

// Begins work whose borrows still stand, and which need not wait: notes it with its memory. Gives
// its number in its timeline, or below 0 why that could not be.
int64_t reserve(const TensorUses& uses, Timeline& timeline, int64_t how = 0);

// Borrows memory again where nobody else has borrowed it, and begins work, as `reserve` does; for
// work that uses the same memory each time, a replay.
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
