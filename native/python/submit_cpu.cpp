#include "python/submit_cpu.hpp"

#include "cpu/pool.hpp"

namespace tw::py {

namespace {

// Places of parameters are those of words of the job, which they follow.
void fill(const CpuSubmission& what, const LaunchPlan& plan, const TensorUses& tensors,
          const int64_t* numbers) {
  write_parameters(plan, tensors, numbers, reinterpret_cast<int64_t*>(&what.job));
}

// Adds a job to an idle stream, for this thread to run it, once `number_of` gives a number for it.
// All of it in one step, so that work has its numbers in the order in which it runs.
template <typename Number>
int64_t occupy_idle(const CpuSubmission& what, Number&& number_of) {
  cpu::Stream::Reservation reservation = what.stream.reserve_idle();
  if (!reservation) return kSlowPath;
  const int64_t number = number_of();
  if (number <= 0) return number;
  reservation.occupy(what.job);
  submitted(what.timeline);
  return number;
}

}  // namespace

int64_t submit_launch(const CpuSubmission& what, const LaunchPlan& plan, const LaunchValues& values,
                      int64_t& place) {
  return begin_launch(plan, what.uses, what.user, what.known, values.row,
                      [&](const TensorUses& tensors) {
                        if (what.stream.pool().is_lost()) return kSlowPath;
                        const int64_t number = reserve(tensors, what.timeline);
                        if (number <= 0) return number;
                        fill(what, plan, tensors, values.numbers);
                        place = what.stream.enqueue(what.job);
                        submitted(what.timeline);
                        return number;
                      });
}

int64_t begin_inline(const CpuSubmission& what, const LaunchPlan& plan,
                     const LaunchValues& values) {
  return begin_launch(plan, what.uses, what.user, what.known, values.row,
                      [&](const TensorUses& tensors) {
                        return occupy_idle(what, [&] {
                          const int64_t number = reserve(tensors, what.timeline);
                          if (number > 0) fill(what, plan, tensors, values.numbers);
                          return number;
                        });
                      });
}

int64_t begin_inline(const CpuSubmission& what, const ReplayMemory& memory, PyObject* built) {
  return begin_replay(memory, what.uses, what.user, what.known, built,
                      [&](const TensorUses& tensors) {
                        return occupy_idle(what, [&] { return reborrow(tensors, what.timeline); });
                      });
}

}  // namespace tw::py
