#include "core/lock.hpp"

namespace tw {

namespace {

// What tells this thread from all that run. It is the same one in a child that this thread forks.
const void* this_thread() {
  thread_local char place;
  return &place;
}

}  // namespace

bool ThreadLock::is_mine() const {
  return holder_.load(std::memory_order_relaxed) == this_thread();
}

bool ThreadLock::try_take() {
  if (!is_mine()) {
    int expected = 0;
    if (!taken_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return false;
    holder_.store(this_thread(), std::memory_order_relaxed);
  }
  ++depth_;
  return true;
}

void ThreadLock::take() {
  while (!try_take()) taken_.wait(1, std::memory_order_relaxed);
}

void ThreadLock::release() {
  if (--depth_ != 0) return;
  holder_.store(nullptr, std::memory_order_relaxed);
  taken_.store(0, std::memory_order_release);
  taken_.notify_one();
}

ThreadLock& borrow_lock() {
  static ThreadLock lock;
  return lock;
}

}  // namespace tw
