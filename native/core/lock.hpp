// The lock of borrow state: one that the thread that holds it may take again.
//
// Python holds it for a block in which it calls the core, which takes it for each call. Whoever
// holds it calls no user code, driver or allocator, so nobody waits long, and no signal need end
// that.
#pragma once

#include <atomic>
#include <cstdint>

namespace tw {

class ThreadLock {
 public:
  ThreadLock() = default;
  ThreadLock(const ThreadLock&) = delete;
  ThreadLock& operator=(const ThreadLock&) = delete;

  // Whether no thread holds it. Where another one may take it meanwhile, that says nothing.
  bool is_free() const { return taken_.load(std::memory_order_relaxed) == 0; }
  // Whether this thread holds it. A forked child is the thread that forked.
  bool is_mine() const;

  // Takes it, if that takes no waiting.
  bool try_take();
  // Waits until it is this thread's.
  void take();
  // For who holds it: as often as it was taken.
  void release();

 private:
  std::atomic<int> taken_ = 0;                    // whether a thread holds it
  std::atomic<const void*> holder_ = nullptr;     // which one
  int64_t depth_ = 0;                             // how often; the holder's
};

// That of all borrow state.
ThreadLock& borrow_lock();

}  // namespace tw
