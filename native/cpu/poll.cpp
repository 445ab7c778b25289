#include "cpu/poll.hpp"

#include <algorithm>
#include <atomic>

#include "core/clock.hpp"

namespace tw::cpu {

namespace {

// Nanoseconds in a block after which signals are looked for there.
constexpr std::int64_t kLong = 200'000'000;
// Nanoseconds between two polls below which the next is later, and above which it is earlier.
constexpr std::int64_t kSeldom = 1'000'000;
constexpr std::int64_t kOften = 4'000'000;
// Iterations until the second poll of a launch, and at most until any.
constexpr std::int64_t kFirst = 64;
constexpr std::int64_t kMost = 1 << 24;

constexpr auto kRelaxed = std::memory_order_relaxed;

std::atomic<SignalCheck> signal_check{nullptr};

// Iterations until the next poll, where the last one was `gap` nanoseconds ago.
std::int64_t paced(std::int64_t iterations, std::int64_t gap) {
  if (iterations == 0) iterations = kFirst;
  if (gap < kSeldom) iterations *= 2;
  if (gap > kOften) iterations /= 2;
  return std::clamp<std::int64_t>(iterations, 1, kMost);
}

// Whether a handler of a signal has raised an error.
bool was_interrupted() {
  const SignalCheck check = signal_check.load(std::memory_order_acquire);
  return check != nullptr && check();
}

}  // namespace

void set_signal_check(SignalCheck check) { signal_check.store(check, std::memory_order_release); }

std::int64_t poll(LaunchRecord* launch) {
  if (launch->cancel.load(kRelaxed) != 0) return 0;
  const std::int64_t time = now();
  const std::int64_t begun = launch->begun.load(kRelaxed);
  const std::int64_t last = std::max(begun, launch->polled.exchange(time, kRelaxed));
  // At most once per nap, by the clock, so that all threads of a launch agree on when.
  if (time - begun > kLong && time / kNap != last / kNap && was_interrupted()) {
    launch->cancel.store(1, kRelaxed);
    return 0;
  }
  const std::int64_t next = paced(launch->poll_interval.load(kRelaxed), time - last);
  launch->poll_interval.store(next, kRelaxed);
  return next;
}

}  // namespace tw::cpu
