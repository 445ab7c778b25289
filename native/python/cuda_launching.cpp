#include "python/cuda_launching.hpp"

#include "python/cuda_reports.hpp"
#include "python/cuda_staging.hpp"
#include "python/gpu_arrays.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

using cuda::Submission;
using Kind = cuda::Submission::Kind;

// What Python has for launches on CUDA.
struct CudaClasses {
  int64_t context = 0;  // of a plan
  int64_t is_fine = 0;  // of the context
  int64_t pools = 0;    // memory for arrays of the host that its launches read; None: they do not
  PyObject* listen = nullptr;      // has a context hear of a launch that reports
  PyObject* unfinished = nullptr;  // goes on where a launch was refused, or is not over yet
};

CudaClasses classes;

PyObject* zero = nullptr;

// Tells the stream of a launch what became of it.
Ending commit_launch(const Submission& submission, const CudaLaunch& launch,
                     const StreamPoint& before, const EndingUse& use) {
  return commit(submission, launch.stream, before, launch.plan, launch.held, use.budget > 0,
                classes.unfinished);
}

// The same for one that reports.
Ending commit_reported(const Submission& submission, const CudaLaunch& launch,
                       const StreamPoint& before, PyObject* reported, const EndingUse& use) {
  if (submission.kind == Kind::kError) return Ending::kError;
  if (submission.kind != Kind::kDone && !drop_reported(reported)) return Ending::kError;
  if (submission.kind != Kind::kDone) return commit_launch(submission, launch, before, use);
  if (use.budget > 0) {
    if (commit_launch(submission, launch, before, use) == Ending::kDone) {
      return hear_reported(reported, launch.op);
    }
    const SavedError saved;  // an interrupt: it may not be over
    call_when_passed(launch.stream, submission.submitted, reported);
    return Ending::kError;
  }
  if (!call_when_passed(launch.stream, submission.submitted, reported)) return Ending::kError;
  if (use.context != nullptr &&
      !call_python(classes.listen, {launch.op, use.context, reported})) {
    return Ending::kError;
  }
  return commit_launch(submission, launch, before, use);
}

// Whether the device may have something to do for a submission: also where it refused the launch,
// there may be copies for that.
bool is_on_its_way(const Submission& submission, const EndingUse& use) {
  if (submission.kind != Kind::kDone) return submission.kind == Kind::kRefused;
  return use.budget <= 0 || submission.status != cuda::kSuccess;
}

// Finds memory for the arrays of the host that a launch reads, if it may read any.
Ending stage(const CudaLaunch& launch, StagedArrays& staged) {
  PyObject* pools = slot(launch.plan, classes.pools);
  if (pools == Py_None) return Ending::kDone;
  if (pools == nullptr || has_arriving(launch.stream)) return Ending::kSlowPath;
  return staged.prepare(pools, launch.held, device_of_cuda_stream(launch.stream));
}

bool is_fine(const CudaLaunch& launch) {
  PyObject* context = slot(launch.plan, classes.context);
  return context != nullptr && slot(context, classes.is_fine) == Py_True;
}

PyObject* set_cuda_launch_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  CudaClasses found;
  setup.type("CudaPlan", {{"context", &found.context}, {"pools", &found.pools}});
  setup.type("Context", {{"is_fine", &found.is_fine}});
  found.listen = setup.object("listen");
  found.unfinished = setup.object("unfinished");
  if (!setup.ok()) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_cuda_launch_classes", in_turn<set_cuda_launch_classes>, METH_O,
     "Say what Python has for launches on CUDA."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Ending end_on_cuda(const CudaLaunch& launch, const EndingUse& use, Owned& reported) {
  const cuda::Driver* driver = driver_at(launch.its.driver);
  if (driver == nullptr || !is_fine(launch)) return Ending::kSlowPath;
  const StreamPoint before = point_of(launch.stream);
  if (!before.ok()) return Ending::kError;
  note_reader(launch.stream);
  StagedArrays staged;
  const Ending ready = stage(launch, staged);
  if (ready != Ending::kDone) return ready;
  if (launch.its.report != 0) {
    PyObject* timeline = timeline_of_cuda_stream(launch.stream);
    reported = new_reported(launch.plan, launch.held, timeline);
    if (!reported) return Ending::kError;
  }
  TracedEvents traced{launch.trace.before<cuda::Event>(), launch.trace.behind<cuda::Event>(), {}};
  const LaunchExtras extras{reported.get(), staged.empty() ? nullptr : &staged,
                            launch.trace ? &traced : nullptr, launch.examine};
  const Submission submission =
      submit_launch(*driver, launch.its, use.used, use.user, zero, launch.row, launch.numbers,
                    *before.timeline, before.handle, use.budget, extras);
  if (!staged.empty() && is_on_its_way(submission, use) &&
      !keep_on_stream(launch.stream, staged.memory())) {
    return Ending::kError;
  }
  const bool is_traced = launch.trace && submission.kind == Kind::kDone;
  if (is_traced &&
      !call_when_passed(launch.stream, submission.submitted, launch.trace.object())) {
    return Ending::kError;
  }
  const Ending ending = reported
                            ? commit_reported(submission, launch, before, reported.get(), use)
                            : commit_launch(submission, launch, before, use);
  if (ending != Ending::kDone || !is_traced) return ending;
  return launch.trace.submitted(traced.waits) ? Ending::kDone : Ending::kError;
}

int add_cuda_launching(PyObject* module) {
  zero = PyLong_FromLong(0);
  return zero == nullptr ? -1 : PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tw::py
