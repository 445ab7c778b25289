#include "python/cuda.hpp"

#include "python/borrowing.hpp"
#include "python/cuda_reports.hpp"
#include "python/cuda_staging.hpp"
#include "python/process.hpp"

namespace tw::py {

namespace {

using cuda::Status;
using cuda::Submission;

// Has a stream wait for all that is on those of other timelines.
Status wait_for_all(const cuda::Driver& driver, cuda::Context context, cuda::Stream stream,
                    const Waits& waits) {
  Status status = cuda::kSuccess;
  for (const Timeline* other : waits) {
    auto& queue = *static_cast<cuda::Queue*>(other->queue);
    status = cuda::wait_for(driver, context, stream, queue);
    if (status != cuda::kSuccess) break;
  }
  return status;
}

// Work of a timeline was begun: lets the driver take it, and waits if there is a budget for that.
template <typename Put>
Submission submit(const cuda::Driver& driver, cuda::Context context, Timeline& timeline,
                  cuda::Stream stream, const Waits& waits, int64_t budget, const Put& put) {
  // With the interpreter's lock: an event is made for the first who waits.
  Status status = wait_for_all(driver, context, stream, waits);
  if (status == cuda::kSuccess) {
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

// Begins a launch on tensors, which its timeline lists if it reports; as `reserve`.
int64_t begin_on(const TensorUses& tensors, Timeline& timeline, int64_t how, Waits& waits,
                 PyObject* reported) {
  const int64_t refused = judge(tensors, timeline, how, waits);
  if (refused != 0) return refused;
  if (reported == nullptr) return begin(tensors, timeline, how, waits);
  if (!list_reported(reported, timeline.issued + 1)) return kSlowPath;
  return begin(tensors, timeline, how | kListed, waits);
}

Status put_recorded(const cuda::Driver& driver, const RecordedWork& work, cuda::Stream stream) {
  if (work.only == nullptr) return cuda::launch_graph(driver, work.context, work.graph, stream);
  return cuda::launch(driver, *work.only, work.only->parameters, stream);
}

}  // namespace

Submission submit_launch(const cuda::Driver& driver, const LaunchPlan& plan, PyObject** used,
                         PyObject* user, PyObject* known, int64_t* row, const int64_t* numbers,
                         Timeline& timeline, cuda::Stream stream, int64_t budget,
                         const LaunchExtras& extras) {
  // Before anything is begun, as there may be no memory for them.
  cuda::Parameters parameters(plan.parameters);
  if (!parameters.ok()) {
    PyErr_NoMemory();
    return Submission::error();
  }
  const auto& record = *reinterpret_cast<const cuda::LaunchRecord*>(plan.record);
  Waits waits;
  const int64_t begun = begin_launch(plan, used, user, known, row, extras.examine,
                                     [&](const TensorUses& tensors, int64_t how) {
                                       return begin_on(tensors, timeline, how, waits,
                                                       extras.reported);
                                     });
  if (begun == kFailed || PyErr_Occurred()) return Submission::error();
  if (begun == 0) return Submission::none();
  const TensorUses tensors = uses_of(plan, row);
  parameters.fill(plan, tensors, numbers);
  if (extras.reported != nullptr) parameters.set(plan.report, report_address(extras.reported));
  if (extras.staged != nullptr) extras.staged->set_addresses(plan, parameters);
  const auto put = [&] {
    const Status copied = extras.staged == nullptr
                              ? cuda::kSuccess
                              : extras.staged->put(driver, record.context, stream);
    if (copied != cuda::kSuccess) return copied;
    return cuda::launch(driver, record, parameters.addresses(), stream);
  };
  const auto put_timed = [&] {
    const auto note_time = [&](cuda::Event event) {
      return cuda::record_event(driver, record.context, event, stream);
    };
    Status status = note_time(extras.traced->before);
    if (status == cuda::kSuccess) status = put();
    return status == cuda::kSuccess ? note_time(extras.traced->behind) : status;
  };
  if (extras.traced != nullptr) extras.traced->waits = waits;
  const Submission done =
      extras.traced == nullptr
          ? submit(driver, record.context, timeline, stream, waits, budget, put)
          : submit(driver, record.context, timeline, stream, waits, budget, put_timed);
  if (done.kind == Submission::Kind::kDone) mark_written(tensors);
  return done;
}

Submission submit_graph(const cuda::Driver& driver, const RecordedWork& work, PyObject** used,
                        PyObject* user, PyObject* known, Timeline& timeline, cuda::Stream stream,
                        int64_t budget) {
  Waits waits;
  const int64_t begun =
      begin_replay(*work.memory, used, user, known, work.built,
                   [&](const TensorUses& tensors) { return reborrow(tensors, timeline, waits); });
  if (begun == kFailed) return Submission::error();
  if (begun == 0) return Submission::none();
  return submit(driver, work.context, timeline, stream, waits, budget,
                [&] { return put_recorded(driver, work, stream); });
}

}  // namespace tw::py
