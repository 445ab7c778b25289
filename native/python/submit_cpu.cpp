#include "python/submit_cpu.hpp"

#include "cpu/pool.hpp"
#include "python/module.hpp"

namespace tw::py {

namespace {

// Places of parameters are those of words of the job, which they follow.
void fill(const CpuSubmission& what, const LaunchPlan& plan, const TensorUses& tensors,
          const int64_t* numbers) {
  write_parameters(plan, tensors, numbers, reinterpret_cast<int64_t*>(&what.job));
}

// Adds a job to an idle stream, for this thread to run it, once `number` gives one for it. All of it
// in one step, so that work has its numbers in the order in which it runs.
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

// Runs what was begun with a number, if it was; that and what is told of it.
int64_t run(int64_t number, const CpuSubmission& what, const CpuTime& time) {
  if (number <= 0) return number;
  cpu::RunStatus status;
  {
    const Unlocked unlocked;
    status = what.stream.resume(what.job, time.scratch, time.budget);
  }
  const bool is_over = status == cpu::RunStatus::kDone;
  if (is_over) pass(what.timeline, number);
  if (PyErr_Occurred()) return kFailed;  // of the handler of a signal, which a block has run
  const int64_t told = !is_over ? kUnfinished : what.job.has_report() ? 0 : kQuiet;
  return number << kToldBits | told;
}

// What the functions of Python take first.
struct Given {
  PyObject* uses;
  PyObject* user;
  PyObject* known;
  Timeline* timeline;
  cpu::Stream* stream;
  cpu::Job* job;

  explicit Given(Arguments& arguments)
      : uses(arguments.object()),
        user(arguments.object()),
        known(arguments.object()),
        timeline(arguments.address<Timeline>()),
        stream(arguments.address<cpu::Stream>()),
        job(arguments.address<cpu::Job>()) {}

  CpuSubmission submission() const { return {uses, user, known, *timeline, *stream, *job}; }
};

CpuTime time_of(Arguments& arguments) {
  void* scratch = arguments.address<void>();
  return CpuTime{scratch, arguments.number()};
}

// The row and the numbers that a launch with this plan is given, as bytes; false: an error is set.
struct GivenValues {
  const LaunchPlan* plan;
  PyObject* row;
  PyObject* numbers;

  explicit GivenValues(Arguments& arguments)
      : plan(arguments.address<const LaunchPlan>()),
        row(arguments.bytes_object()),
        numbers(arguments.bytes_object()) {}

  bool are_whole() const {
    return holds_words(row, TensorUses::words_for(plan->written, plan->tensors)) &&
           holds_words(numbers, plan->numbers);
  }

  LaunchValues values() const { return {words_in(row), words_in(numbers)}; }
};

PyObject* cpu_submit(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("cpu_submit", given, count, 9);
  const Given what(arguments);
  const GivenValues launch(arguments);
  if (!arguments.ok() || !is_uses(what.uses) || !launch.are_whole()) return nullptr;
  return as_answer(submit_launch(what.submission(), *launch.plan, launch.values()));
}

PyObject* cpu_run(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("cpu_run", given, count, 11);
  const Given what(arguments);
  const CpuTime time = time_of(arguments);
  const GivenValues launch(arguments);
  if (!arguments.ok() || !is_uses(what.uses) || !launch.are_whole()) return nullptr;
  return as_answer(run_launch(what.submission(), *launch.plan, launch.values(), time));
}

PyObject* cpu_replay(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("cpu_replay", given, count, 10);
  const Given what(arguments);
  const CpuTime time = time_of(arguments);
  const auto* memory = arguments.address<const ReplayMemory>();
  PyObject* built = arguments.object();
  if (!arguments.ok() || !is_uses(what.uses)) return nullptr;
  return as_answer(run_replay(what.submission(), *memory, built, time));
}

PyMethodDef kMethods[] = {
    fast_method("cpu_submit", cpu_submit, "Put a launch behind what is on its stream."),
    fast_method("cpu_run", cpu_run, "Run a launch on this thread, if its stream is idle."),
    fast_method("cpu_replay", cpu_replay, "Run a replay on this thread, if its stream is idle."),
    {nullptr, nullptr, 0, nullptr},
};

constexpr Constant kConstants[] = {
    {"CPU_UNFINISHED", kUnfinished},
    {"CPU_QUIET", kQuiet},
    {"CPU_TOLD_BITS", kToldBits},
};

}  // namespace

int64_t submit_launch(const CpuSubmission& what, const LaunchPlan& plan,
                      const LaunchValues& values) {
  return begin_launch(plan, what.uses, what.user, what.known, values.row,
                      [&](const TensorUses& tensors) {
                        if (what.stream.pool().is_lost()) return kSlowPath;
                        const int64_t number = reserve(tensors, what.timeline);
                        if (number <= 0) return number;
                        fill(what, plan, tensors, values.numbers);
                        what.stream.enqueue(what.job);
                        submitted(what.timeline);
                        return number;
                      });
}

int64_t run_launch(const CpuSubmission& what, const LaunchPlan& plan, const LaunchValues& values,
                   const CpuTime& time) {
  const auto begin = [&](const TensorUses& tensors) {
    return occupy_idle(what, [&] {
      const int64_t number = reserve(tensors, what.timeline);
      if (number > 0) fill(what, plan, tensors, values.numbers);
      return number;
    });
  };
  return run(begin_launch(plan, what.uses, what.user, what.known, values.row, begin), what, time);
}

int64_t run_replay(const CpuSubmission& what, const ReplayMemory& memory, PyObject* built,
                   const CpuTime& time) {
  const auto begin = [&](const TensorUses& tensors) {
    return occupy_idle(what, [&] { return reborrow(tensors, what.timeline); });
  };
  return run(begin_replay(memory, what.uses, what.user, what.known, built, begin), what, time);
}

int add_submit_cpu(PyObject* module) {
  if (add_constants(module, kConstants) < 0) return -1;
  return PyModule_AddFunctions(module, kMethods);
}

}  // namespace tw::py
