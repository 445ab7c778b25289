// The lock of borrow state: taken again by its thread, and by one thread at a time.
#include "core/lock.hpp"

#include <thread>
#include <vector>

#include "check.hpp"

namespace {

using tw::ThreadLock;

TW_TEST(a_thread_may_take_it_again) {
  ThreadLock lock;
  TW_CHECK(lock.is_free() && !lock.is_mine());
  TW_CHECK(lock.try_take());
  lock.take();
  TW_CHECK(lock.is_mine() && !lock.is_free());
  lock.release();
  TW_CHECK(lock.is_mine());
  lock.release();
  TW_CHECK(lock.is_free() && !lock.is_mine());
}

TW_TEST(no_other_thread_has_it_meanwhile) {
  ThreadLock lock;
  lock.take();
  std::thread([&] { TW_CHECK(!lock.try_take() && !lock.is_mine()); }).join();
  lock.release();
  std::thread([&] {
    TW_CHECK(lock.try_take());
    lock.release();
  }).join();
  TW_CHECK(lock.is_free());
}

// What it guards is no atomic: ThreadSanitizer sees where two threads are inside.
TW_TEST(threads_take_turns) {
  constexpr int kThreads = 4, kTurns = 2000;
  ThreadLock lock;
  int64_t turns = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < kTurns; ++turn) {
        lock.take();
        lock.take();
        ++turns;
        lock.release();
        lock.release();
      }
    });
  }
  for (std::thread& each : threads) each.join();
  TW_EQUAL(turns, int64_t{kThreads} * kTurns);
}

}  // namespace

TW_TEST_MAIN
