// Launches and replays on streams of the CPU: begun and submitted.
#pragma once

#include "cpu/stream.hpp"
#include "python/borrowing.hpp"

namespace tw::py {

// Jobs that note the time before and behind a launch, for a trace, and what the launch waits for.
struct TracedJobs {
  cpu::Job& before;
  cpu::Job& behind;
  Waits waits;
};

// Who submits what, and where to. `used`, `user` and `known` are as in borrowing.hpp.
struct CpuSubmission {
  PyObject** used;
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
  PyObject* examine = nullptr;  // as `examined` takes it
};

// What a timeline lists until somebody has heard what became of a launch, which is told its number.
struct Listing {
  PyObject* timeline_object;
  PyObject* work;
  int64_t& number;
};

// Puts a launch behind what is on the stream, and behind what it conflicts with elsewhere. Its
// number in its timeline, 0 if it needs a closer look and nothing was done, or `kFailed`. `place`
// is told its number in the stream. `listing` and `traced` may be null.
int64_t submit_launch(const CpuSubmission& what, const LaunchPlan& plan, const LaunchValues& values,
                      const Listing* listing, TracedJobs* traced, int64_t& place);

// Puts a launch on the stream if that is idle, for this thread to run it. As above. 0 with some
// `waits`: once these streams have passed what they have, it may be tried again.
int64_t begin_inline(const CpuSubmission& what, const LaunchPlan& plan, const LaunchValues& values,
                     Waits& waits);

// The same for a replay, whose job is a list that knows where its memory is. `built` is the
// location that is noted with what is written.
int64_t begin_inline(const CpuSubmission& what, const ReplayMemory& memory, PyObject* built,
                     Waits& waits);

}  // namespace tw::py
