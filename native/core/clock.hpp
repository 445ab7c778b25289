// Time, and what a thread does that waits for very little of it.
#pragma once

#include <sched.h>
#include <time.h>

#include <chrono>
#include <cstdint>

namespace tw::cpu {

// Nanoseconds to look out before sleeping; longer would starve other programs' threads.
inline constexpr std::int64_t kSpin = 30'000;
// Nanoseconds a thread sleeps at most before it lets the interpreter see signals.
inline constexpr std::int64_t kNap = 50'000'000;

// Nanoseconds on the clock of Python's `time.monotonic_ns`.
inline std::int64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

// The time so many nanoseconds from now, which may be more than there will ever be.
inline std::chrono::steady_clock::time_point deadline(std::int64_t budget) {
  constexpr std::int64_t kYears = 3'000'000'000'000'000'000;  // 95 of them
  return std::chrono::steady_clock::now() +
         std::chrono::nanoseconds(budget < kYears ? budget : kYears);
}

// Waits for a few nanoseconds.
inline void relax() {
  for (int i = 0; i < 8; ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  sched_yield();  // another thread, perhaps the very one waited for, may want this processor
}

}  // namespace tw::cpu
