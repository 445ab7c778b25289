// How launches of kernels are submitted: on the calling thread, to a stream of the CPU, or to CUDA.
#pragma once

#include "python/launch.hpp"
#include "python/scalars.hpp"

namespace tw::py {

// The device of the tensors of a launch, if `held` is what `bind` gave; null: it is not.
PyObject* home_in(PyObject* held);

// Whether the code of a launch is there, and what it was made for: starting it takes no time. False
// where that is not sure, or an error is set.
bool is_surely_ready(PyObject* op);

// The numbers of a launch as parameters.
class PackedNumbers {
 public:
  PackedNumbers() {}  // does not write the room for words

  const int64_t* words() const { return words_; }

  // Makes parameters of numbers as a plan says, whose objects keep that at an offset.
  Ending pack(const LaunchPlan& plan, PyObject* its, int64_t packing_offset, PyObject* numbers);

  // The same for a plan of the CPU.
  Ending pack_for_cpu(const LaunchPlan& plan, PyObject* its, PyObject* numbers);

 private:
  Owned bytes_;  // where native code could not pack them
  int64_t own_[kMostPacked];
  const int64_t* words_ = nullptr;
};

// Runs a launch by itself.
Ending end_alone(PyObject* op, PyObject* stream, const EndingUse& use, Owned& result);

// Runs a launch as a part of other work, which waits at its end, if at all; its use was noted.
Ending end_within(PyObject* op, PyObject* context, Owned& result);

}  // namespace tw::py
