#include "core/memory_state.hpp"

namespace tw {

namespace {

// The record's bits let the fast path decide with one test that no borrow can be in the way.
void mark(StorageRecord& record, int64_t reason, bool is_so) {
  record.slow_path = is_so ? record.slow_path | reason : record.slow_path & ~reason;
}

bool is_spared(const Borrow& borrow, const MemoryUse& use) {
  return use.spared != nullptr && use.spared->comes_from(borrow);
}

// Ends the exclusive borrows of all of the memory, latest first, up to one that is spared.
void end_exclusive(MemoryState& state, const MemoryUse& use, std::vector<Borrow*>& ended) {
  // The chain of parents is a stack: a use of an ancestor invalidates everything derived from it.
  Borrow* borrow = state.exclusive;
  for (; borrow != nullptr && !is_spared(*borrow, use); borrow = borrow->parent) {
    borrow->has_ended = true;
    ended.push_back(borrow);
  }
  if (use.heir != nullptr || borrow != state.exclusive) {
    state.set_exclusive(use.heir != nullptr ? use.heir : borrow);
  }
}

void end_listed(BorrowList& list, const MemoryUse& use, MeetsWithGaps meets,
                std::vector<Borrow*>& ended) {
  if (list.is_empty()) return;
  // `meets` may call Python, which may let another thread run that ends borrows. The caller keeps
  // the borrows of the list alive, but those that were ended meanwhile are in no list any more.
  for (Borrow* borrow = list.head.next; borrow != &list.head;) {
    Borrow* next = borrow->next;
    const bool apart = use.extent != nullptr && !meet(*use.extent, *borrow->extent, meets);
    if (!borrow->is_listed() || (next != &list.head && !next->is_listed())) {
      borrow = list.head.next;
      continue;
    }
    if (!apart && !is_spared(*borrow, use)) {
      unlist(*borrow);
      borrow->has_ended = true;
      ended.push_back(borrow);
    }
    borrow = next;
  }
}

}  // namespace

bool meet(const Extent& one, const Extent& other, MeetsWithGaps meets) {
  // Intervals first; only overlapping extents with gaps need the exact test.
  if (!one.overlaps(other)) return false;
  return (one.is_dense && other.is_dense) || meets(one, other);
}

bool Borrow::comes_from(const Borrow& other) const {
  const Borrow* borrow = this;
  while (borrow != nullptr && borrow != &other) borrow = borrow->parent;
  return borrow != nullptr;
}

void BorrowList::add(Borrow& borrow) {
  // Zeroed memory is an empty list; the circular form begins with the first element.
  if (head.next == nullptr) head.next = head.previous = &head;
  borrow.previous = head.previous;
  borrow.next = &head;
  borrow.previous->next = borrow.next->previous = &borrow;
}

void unlist(Borrow& borrow) {
  if (!borrow.is_listed()) return;
  borrow.previous->next = borrow.next;
  borrow.next->previous = borrow.previous;
  borrow.previous = borrow.next = nullptr;
}

void MemoryState::set_exclusive(Borrow* borrow) {
  exclusive = borrow;
  record.owner = reinterpret_cast<int64_t>(borrow);
  mark(record, slow_path::kExclusive, borrow != nullptr);
}

void MemoryState::note_parts() {
  mark(record, slow_path::kWriters, !writers.is_empty());
  mark(record, slow_path::kReaders, !readers.is_empty());
}

void end_conflicting(MemoryState& state, const MemoryUse& use, MeetsWithGaps meets,
                     std::vector<Borrow*>& ended) {
  end_exclusive(state, use, ended);
  end_listed(state.writers, use, meets, ended);
  if (use.writes) {
    // Ends all shared borrows of the complete memory at once: they compare the epoch.
    ++state.record.epoch;
    end_listed(state.readers, use, meets, ended);
  }
  state.note_parts();
}

void abandon(Borrow& borrow) {
  MemoryState* state = borrow.memory;
  if (state == nullptr) return;
  if (state->exclusive == &borrow) state->set_exclusive(borrow.parent);
  if (!borrow.is_listed()) return;
  unlist(borrow);
  state->note_parts();
}

}  // namespace tw
