#include "python/cuda.hpp"

#include "python/borrowing.hpp"
#include "python/process.hpp"

namespace tw::py {

namespace {

using cuda::Status;
using cuda::Submission;

// Work of a timeline was begun: lets the driver take it, and waits if there is a budget for that.
template <typename Put>
Submission submit(const cuda::Driver& driver, cuda::Context context, Timeline& timeline,
                  cuda::Stream stream, int64_t budget, const Put& put) {
  Status status;
  {
    const UnlockedForOthers others;
    status = put();
  }
  Submission done = cuda::count_submitted(timeline, status);
  if (done.kind != Submission::Kind::kDone || budget <= 0) return done;
  const cuda::DrainPoint point(timeline);
  {
    const UnlockedForOthers others;
    done.status = cuda::drain(driver, context, stream, budget);
  }
  if (done.status == cuda::kSuccess) point.drained(timeline);
  return done;
}

Status put_recorded(const cuda::Driver& driver, const RecordedWork& work, cuda::Stream stream) {
  if (work.only == nullptr) return cuda::launch_graph(driver, work.context, work.graph, stream);
  return cuda::launch(driver, *work.only, work.only->parameters, stream);
}

}  // namespace

Submission submit_launch(const cuda::Driver& driver, const LaunchPlan& plan, PyObject* uses,
                         PyObject* user, PyObject* known, int64_t* row, const int64_t* numbers,
                         Timeline& timeline, cuda::Stream stream, int64_t budget) {
  // Before anything is begun, as there may be no memory for them.
  cuda::Parameters parameters(plan.parameters);
  if (!parameters.ok()) {
    PyErr_NoMemory();
    return Submission::error();
  }
  const int64_t begun =
      begin_launch(plan, uses, user, known, row,
                   [&](const TensorUses& tensors) { return reserve(tensors, timeline); });
  if (begun == kFailed) return Submission::error();
  if (begun == 0) return Submission::none();
  parameters.fill(plan, uses_of(plan, row), numbers);
  const auto& record = *reinterpret_cast<const cuda::LaunchRecord*>(plan.record);
  return submit(driver, record.context, timeline, stream, budget, [&] {
    return cuda::launch(driver, record, parameters.addresses(), stream);
  });
}

Submission submit_graph(const cuda::Driver& driver, const RecordedWork& work, PyObject* uses,
                        PyObject* user, PyObject* known, Timeline& timeline, cuda::Stream stream,
                        int64_t budget) {
  const int64_t begun =
      begin_replay(*work.memory, uses, user, known, work.built,
                   [&](const TensorUses& tensors) { return reborrow(tensors, timeline); });
  if (begun == kFailed) return Submission::error();
  if (begun == 0) return Submission::none();
  return submit(driver, work.context, timeline, stream, budget,
                [&] { return put_recorded(driver, work, stream); });
}

Submission submit_begun(const cuda::Driver& driver, const cuda::LaunchRecord& record,
                        Timeline& timeline, cuda::Stream stream) {
  return submit(driver, record.context, timeline, stream, 0, [&] {
    return cuda::launch(driver, record, record.parameters, stream);
  });
}

}  // namespace tw::py
