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
  Owned plan;     // a `CpuPlan`, a `CudaPlan` or a `CalledPlan`
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

// Whether the code is known to take the numbers of a launch: kDone, or kSlowPath.
Ending accept_numbers(const LaunchPlan& plan, const Prepared& prepared);

// Makes parameters of the numbers of a launch, if the code is known to take these.
Ending pack_passed(const LaunchPlan& plan, int64_t packing_offset, Prepared& prepared);

// Submits a launch by a call of Python's, on a stream of any kind, as a part of other work.
// kSlowPath: nothing was done.
Ending end_by_call(PyObject* op, PyObject* stream, Prepared& prepared, const EndingUse& use);

// Records a launch, if all its borrows stand; as `end_by_call`.
Ending record_by_call(PyObject* op, Prepared& prepared, const EndingUse& use);

// Reads what Python has for such launches out of a dict. False: an error is set.
bool set_called_launch_classes(PyObject* given);

}  // namespace tw::py
