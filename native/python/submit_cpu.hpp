// Launches and replays on streams of the CPU: begun, submitted and, where the caller waits, run.
#pragma once

#include "cpu/stream.hpp"
#include "python/borrowing.hpp"

namespace tw::py {

// What is told of work that ran, as bits below its number.
inline constexpr int64_t kUnfinished = 1;  // time is up: it must be resumed
inline constexpr int64_t kQuiet = 2;       // it is over, and has nothing to report
inline constexpr int kToldBits = 2;

// Who submits what, and where to. `uses`, `user` and `known` are as in borrowing.hpp.
struct CpuSubmission {
  PyObject* uses;
  PyObject* user;
  PyObject* known;
  Timeline& timeline;
  cpu::Stream& stream;
  cpu::Job& job;
};

// What the thread works with that runs a job.
struct CpuTime {
  void* scratch;
  int64_t budget;  // nanoseconds, about
};

// The tensors of a launch, as `TensorUses` takes them, and its other numbers.
struct LaunchValues {
  int64_t* row;
  const int64_t* numbers;
};

// Puts a launch behind what is on the stream. Its number in its timeline, 0 if it needs a closer
// look and nothing was done, or `kFailed`.
int64_t submit_launch(const CpuSubmission& what, const LaunchPlan& plan, const LaunchValues& values);

// Runs a launch on this thread, with helpers if it lasts, if the stream is idle. Its number, shifted,
// and what is told of it; 0 or `kFailed` as above.
int64_t run_launch(const CpuSubmission& what, const LaunchPlan& plan, const LaunchValues& values,
                   const CpuTime& time);

// The same for a replay, whose job is a list that knows where its memory is. `built` is the location
// that is noted with what is written.
int64_t run_replay(const CpuSubmission& what, const ReplayMemory& memory, PyObject* built,
                   const CpuTime& time);

}  // namespace tw::py
