#include "python/submit_cpu.hpp"

#include <algorithm>

#include "cpu/pool.hpp"
#include "python/listed.hpp"

namespace tw::py {

namespace {

// Places of parameters are those of words of the job, which they follow.
void fill(const CpuSubmission& what, const LaunchPlan& plan, const TensorUses& tensors,
          const int64_t* numbers) {
  write_parameters(plan, tensors, numbers, reinterpret_cast<int64_t*>(&what.job));
}

// Has the stream wait for all that is on some others; false: there is no memory for that.
bool enqueue_waits(cpu::Stream& stream, const Waits& waits) {
  return std::all_of(waits.begin(), waits.end(), [&](const Timeline* other) {
    const auto& theirs = *static_cast<const cpu::Stream*>(other->queue);
    return stream.enqueue_wait(theirs.completed_count(), theirs.submitted()) > 0;
  });
}

// Has a timeline list work that begins with this number. False: there is no memory for that, which
// the slow path says.
bool list(const Listing& listing, int64_t number) {
  listing.number = number;
  if (list_work(listing.timeline_object, number, listing.work)) return true;
  listing.number = 0;
  PyErr_Clear();
  return false;
}

// Adds a job that was judged to an idle stream, for this thread to run it. All of it in one step,
// so that work has its numbers in the order in which it runs. `prepare` makes it ready.
template <typename Prepare>
int64_t occupy_idle(const CpuSubmission& what, const TensorUses& tensors, Waits& waits,
                    const Prepare& prepare) {
  cpu::Stream::Reservation reservation = what.stream.reserve_idle();
  if (!reservation) waits.add(&what.timeline);
  if (!waits.empty()) return kSlowPath;
  prepare();
  const int64_t number = begin(tensors, what.timeline, 0, waits);
  reservation.occupy(what.job);
  submitted(what.timeline);
  return number;
}

}  // namespace

int64_t submit_launch(const CpuSubmission& what, const LaunchPlan& plan, const LaunchValues& values,
                      const Listing* listing, TracedJobs* traced, int64_t& place) {
  return begin_launch(plan, what.used, what.user, what.known, values.row, values.examine,
                      [&](const TensorUses& tensors, int64_t how) {
                        if (what.stream.pool().is_lost()) return kSlowPath;
                        Waits waits;
                        const int64_t refused = judge(tensors, what.timeline, how, waits);
                        if (refused != 0) return refused;
                        // Where there is memory for some of them only, these do no harm.
                        if (!enqueue_waits(what.stream, waits)) return kSlowPath;
                        fill(what, plan, tensors, values.numbers);
                        if (listing != nullptr && !list(*listing, what.timeline.issued + 1)) {
                          return kSlowPath;
                        }
                        if (listing != nullptr) how |= kListed;
                        const int64_t number = begin(tensors, what.timeline, how, waits);
                        if (traced != nullptr) what.stream.enqueue(traced->before);
                        place = what.stream.enqueue(what.job);
                        if (traced != nullptr) {
                          what.stream.enqueue(traced->behind);
                          traced->waits = waits;
                        }
                        submitted(what.timeline);
                        mark_written(tensors);
                        return number;
                      });
}

int64_t begin_inline(const CpuSubmission& what, const LaunchPlan& plan, const LaunchValues& values,
                     Waits& waits) {
  return begin_launch(plan, what.used, what.user, what.known, values.row, values.examine,
                      [&](const TensorUses& tensors, int64_t how) {
                        const int64_t refused = judge(tensors, what.timeline, how, waits);
                        if (refused != 0) return refused;
                        return occupy_idle(what, tensors, waits, [&] {
                          fill(what, plan, tensors, values.numbers);
                          mark_written(tensors);
                        });
                      });
}

int64_t begin_inline(const CpuSubmission& what, const ReplayMemory& memory, PyObject* built,
                     Waits& waits) {
  return begin_replay(memory, what.used, what.user, what.known, built,
                      [&](const TensorUses& tensors) {
                        const int64_t refused = judge_again(tensors, what.timeline, waits);
                        if (refused != 0) return refused;
                        return occupy_idle(what, tensors, waits, [&] { borrow_again(tensors); });
                      });
}

}  // namespace tw::py
