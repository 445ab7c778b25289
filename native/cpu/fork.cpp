#include "cpu/fork.hpp"

#include <pthread.h>

#include <atomic>

namespace tw::cpu {

namespace {

std::atomic<std::int64_t> forks{0};

void count_fork() { forks.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

std::int64_t fork_count() {
  static const int registered = pthread_atfork(nullptr, nullptr, count_fork);
  static_cast<void>(registered);
  return forks.load(std::memory_order_relaxed);
}

}  // namespace tw::cpu
