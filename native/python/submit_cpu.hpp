// Launches and replays on streams of the CPU: begun and submitted.
#pragma once

#include "cpu/stream.hpp"
#include "python/borrowing.hpp"

namespace tw::py {

// Who submits what, and where to. `uses`, `user` and `known` are as in borrowing.hpp.
struct CpuSubmission {
  PyObject* uses;
  PyObject* user;
  PyObject* known;
  Timeline& timeline;
  cpu::Stream& stream;
  cpu::Job& job;
};

// The tensors of a launch, as `TensorUses` takes them, and its other numbers.
struct LaunchValues {
  int64_t* row;
  const int64_t* numbers;
};

// Puts a launch behind what is on the stream. Its number in its timeline, 0 if it needs a closer
// look and nothing was done, or `kFailed`. `place` is told its number in the stream.
int64_t submit_launch(const CpuSubmission& what, const LaunchPlan& plan, const LaunchValues& values,
                      int64_t& place);

// Puts a launch on the stream if that is idle, for this thread to run it. As above.
int64_t begin_inline(const CpuSubmission& what, const LaunchPlan& plan, const LaunchValues& values);

// The same for a replay, whose job is a list that knows where its memory is. `built` is the
// location that is noted with what is written.
int64_t begin_inline(const CpuSubmission& what, const ReplayMemory& memory, PyObject* built);

}  // namespace tw::py
