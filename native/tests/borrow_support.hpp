// Memory, rows of tensors and timelines for tests of borrows.
#pragma once

#include <vector>

#include "core/borrow.hpp"

namespace tw {

struct Memory {
  StorageRecord storage{};
  TensorRecord tensor{};
  explicit Memory(int64_t reasons = 0, int64_t epoch = 3, int64_t owner = 0) {
    storage.epoch = epoch;
    storage.slow_path = reasons;
    storage.owner = owner;
    tensor.kind = 7;
    tensor.address = 4096;
    tensor.storage = &storage;
    tensor.end = 4096;
  }
  // Notes work that uses all of it.
  void note_work(Timeline& timeline, int64_t number, bool writes) {
    storage.marks[storage.marked++] = Mark{&timeline, number, {tensor.start, tensor.end, writes}};
  }
  Memory(const Memory&) = delete;

  // A tensor that is a part of it, by quarters.
  TensorRecord part(int64_t first, int64_t count) const {
    TensorRecord made = tensor;
    made.start = tensor.start + 1024 * first;
    made.end = made.start + 1024 * count;
    return made;
  }
};

// A row whose borrows stand.
struct Row {
  std::vector<int64_t> words;
  TensorUses uses;
  Row(const std::vector<Memory*>& memory, int64_t written, int64_t owner = 0)
      : words(TensorUses::words_for(int64_t(memory.size()))),
        uses(words.data(), written, int64_t(memory.size())) {
    for (int64_t i = 0; i < uses.count(); ++i) {
      uses.set_tensor(i, &memory[i]->tensor);
      uses.epoch(i) = memory[i]->storage.epoch;
      if (uses.writes(i)) uses.owner(i) = owner;
    }
  }
};

// A timeline with five pieces of work.
inline Timeline busy(int64_t over = 0, int64_t unsubmitted = 0) {
  Timeline timeline{};
  timeline.issued = 5;
  timeline.over = over;
  timeline.unsubmitted = unsubmitted;
  return timeline;
}

}  // namespace tw
