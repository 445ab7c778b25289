// Launches of kernels and graphs on streams of CUDA, and what Python's `CudaStream` is told of it.
//
// A launch is `point_of(stream)`, then `submit_launch` or `submit_graph`, then `commit`. `used`,
// `user` and `known` are those of `begin_launch`. Where `Submission` or `Ending` say that there is
// an error, one of Python's is set. References are borrowed, and owned by whoever calls until
// `commit` returns: other threads may change the op while the driver works.
#pragma once

#include "core/records.hpp"
#include "cuda/stream.hpp"
#include "python/py.hpp"

namespace tw::py {

class StagedArrays;

// Events that note the time before and behind a launch, for a trace, and what it waits for.
struct TracedEvents {
  cuda::Event before;
  cuda::Event behind;
  Waits waits;
};

// What some launches have besides tensors and numbers.
struct LaunchExtras {
  PyObject* reported = nullptr;          // the launch as one that reports, which is listed
  const StagedArrays* staged = nullptr;  // arrays of the host that it reads
  TracedEvents* traced = nullptr;        // how a trace learns when it ran
  PyObject* examine = nullptr;           // as `examined` takes it
};

// Begins a launch on the tensors of a row, puts it on a stream, and waits for all that is there if
// there is a budget for that, in nanoseconds. `numbers` may be null where the plan has none.
cuda::Submission submit_launch(const cuda::Driver& driver, const LaunchPlan& plan, PyObject** used,
                               PyObject* user, PyObject* known, int64_t* row,
                               const int64_t* numbers, Timeline& timeline, cuda::Stream stream,
                               int64_t budget, const LaunchExtras& extras = {});

// What was recorded, to be put on a stream again.
struct RecordedWork {
  cuda::Context context;
  const cuda::LaunchRecord* only;  // the one kernel that it consists of; null: it is a graph
  cuda::GraphExec graph;
  const ReplayMemory* memory;
  PyObject* built;  // where the op was built: the location that is noted with what is written
};

// The same for what was recorded.
cuda::Submission submit_graph(const cuda::Driver& driver, const RecordedWork& work, PyObject** used,
                              PyObject* user, PyObject* known, Timeline& timeline,
                              cuda::Stream stream, int64_t budget);

// The table of a `CudaDriver` by its address, as `LaunchPlan::driver` and Python's
// `Calls.native_driver` have it; null: launches go through Python.
inline const cuda::Driver* driver_at(const void* address) {
  return static_cast<const cuda::Driver*>(address);
}

// Whether that is a `CudaStream`, and whole: Python can make one without any slot being set.
bool is_cuda_stream(PyObject* stream);

// The device of such a stream; it stays the stream's.
PyObject* device_of_cuda_stream(PyObject* stream);

// Where its device's memory comes from; the same. Null: nothing can be done on that device.
PyObject* pool_of_cuda_stream(PyObject* stream);

// Its timeline, as Python has it; the same.
PyObject* timeline_of_cuda_stream(PyObject* stream);

// Whether copies that were put on a stream have yet to be written to memory of the host.
bool has_arriving(PyObject* stream);

// Keeps something alive until a stream has passed what was just put there. Runs no Python. False:
// an error is set, and it stays for good.
bool keep_on_stream(PyObject* stream, PyObject* keep);

// Has something called once a stream has passed the work that was just put there, after which its
// timeline had so many, and keeps both until then. Runs no Python. False: an error is set.
bool call_when_passed(PyObject* stream, int64_t submitted, PyObject* callback);

// A stream before something is submitted to it.
struct StreamPoint {
  Timeline* timeline = nullptr;
  cuda::Stream handle = nullptr;
  int64_t others = 0;  // what was submitted that the timeline does not count
  Owned kept;          // the list of what the stream keeps alive,
  int64_t upto = 0;    // and up to which number that is for work before

  // False: an error is set.
  bool ok() const { return timeline != nullptr; }
};

StreamPoint point_of(PyObject* stream);

enum class Ending {
  kError,
  kSlowPath,  // nothing was done: the op needs a closer look
  kDone,
};

// Tells a stream how work was submitted to it: what the work uses is kept alive until it has
// passed, or let go of if it was waited for. `label` says what the work is, in words, should it
// fail; `waits`: there was a budget. Where the driver refused it, or it is not over yet, Python
// goes on, by `unfinished(label, keep, stream, others, kept, upto, answer)`.
Ending commit(const cuda::Submission& submission, PyObject* stream, const StreamPoint& before,
              PyObject* label, PyObject* keep, bool waits, PyObject* unfinished);

// Waits for all that is on a stream, for a short time. 1: it is over, and the stream knows; 0: it
// is not, or Python must look; below 0: an error is set.
int await_all(PyObject* stream);

}  // namespace tw::py
