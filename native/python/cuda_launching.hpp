// Launches of kernels on streams of CUDA: put there, with copies of what they read on the host, and
// what they report heard.
#pragma once

#include "python/endings.hpp"
#include "python/launch_trace.hpp"

namespace tw::py {

// A launch that may be begun. All of it is owned by who calls.
struct CudaLaunch {
  PyObject* op;
  PyObject* stream;
  PyObject* plan;  // a `CudaPlan`,
  const LaunchPlan& its;  // and its words
  PyObject* held;
  int64_t* row;
  const int64_t* numbers;
  const LaunchTrace& trace;
  PyObject* examine;  // as `examined` takes it
};

// Ends a launch. kSlowPath: nothing was done. `reported` is told how it is listed, if it reports.
Ending end_on_cuda(const CudaLaunch& launch, const EndingUse& use, Owned& reported);

}  // namespace tw::py
