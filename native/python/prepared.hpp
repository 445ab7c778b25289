// A launch that is about to be submitted, wherever it runs.
#pragma once

#include "core/timeline.hpp"
#include "python/launch_trace.hpp"
#include "python/launching.hpp"
#include "python/submit_cpu.hpp"

namespace tw::py {

// What submitting one launch takes. All of it is owned: others may change the op, and what is known
// of its kernel, while the launch runs.
struct Prepared {
  Owned held;
  Owned code;
  Owned plan;     // a `CpuPlan` or a `CudaPlan`
  Owned numbers;  // those of the launch, as they were accepted
  PackedNumbers packed;
  Owned examination;  // what Python has done for it, which is called as `examined` has it
  Owned outcome;  // who is told what becomes of it, as it was started; None, or empty: nobody
  LaunchTrace trace;
  Waits waits;  // what must have passed before it can run on the calling thread
  bool is_over = false;  // whether it is, once it was submitted

  int64_t* row() const {
    return reinterpret_cast<int64_t*>(PyBytes_AS_STRING(row_in(held.get())));
  }
  LaunchValues values() const { return {row(), packed.words(), examination.get()}; }
};

// Whether a launch is given no numbers.
inline bool has_no_numbers(const LaunchPlan& plan, PyObject* numbers) {
  return plan.numbers == 0 && PyTuple_CheckExact(numbers) && PyTuple_GET_SIZE(numbers) == 0;
}

// Makes parameters of the numbers of a launch, if the code is known to take these.
Ending pack_passed(const LaunchPlan& plan, int64_t packing_offset, Prepared& prepared);

}  // namespace tw::py
