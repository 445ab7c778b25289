#include "python/cpu_launching.hpp"

#include <optional>

#include "core/clock.hpp"
#include "cpu/pool.hpp"
#include "python/context.hpp"
#include "python/listed.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"
#include "python/started.hpp"

namespace tw::py {

namespace {

// What Python has for launches on the CPU.
struct CpuLaunchClasses {
  PyTypeObject* cpu_plan = nullptr;  // launch.cpu_plan.CpuPlan
  int64_t cpu_address = 0;           // of its `LaunchPlan`
  int64_t cpu_packing = 0;
  int64_t launcher = 0;
  int64_t idle = 0;      // a list of records that are as good as new
  int64_t is_quiet = 0;  // whether launches report nothing
  PyObject* may_run_here = nullptr;  // whether a launch runs on the thread of an event loop
  PyObject* new_outcome = nullptr;   // of a started launch that may report something
};

CpuLaunchClasses classes;

struct Names {
  PyObject* hear;
  PyObject* prepare_start;
  PyObject* record;
  PyObject* settle;
  PyObject* sweep;
  PyObject* zero;
};

Names names;

CpuSubmission submission_of(const CpuQueue& queue, const RunMemory& memory, const EndingUse& use) {
  return {use.used, use.user, names.zero, *queue.timeline, *queue.stream, memory.job()};
}

// Runs a launch on the calling thread, where its stream is idle.
Ending run_here(PyObject* op, const CpuQueue& queue, const LaunchPlan& plan, Prepared& prepared,
                const EndingUse& use) {
  RunMemory memory(take_record(prepared.plan.get()));
  if (memory.record() == nullptr || !memory.prepare(queue)) {
    return PyErr_Occurred() ? Ending::kError : Ending::kSlowPath;
  }
  const int64_t budget = spread(queue, memory.job());
  if (budget < 0) return Ending::kError;
  const int64_t number =
      begin_inline(submission_of(queue, memory, use), plan, prepared.values(), prepared.waits);
  if (number <= 0) {
    if (number == kFailed) return Ending::kError;
    return put_back(prepared.plan.get(), memory.record()) ? Ending::kSlowPath : Ending::kError;
  }
  const int64_t begun = prepared.trace ? cpu::now() : 0;
  if (!run_to_end(queue, memory, number, budget) || !memory.release(queue)) return Ending::kError;
  if (prepared.trace && !prepared.trace.ran(begun, cpu::now())) return Ending::kError;
  if (!memory.job().has_report()) {
    return put_back(prepared.plan.get(), memory.record()) ? Ending::kDone : Ending::kError;
  }
  PyObject* given[] = {op, prepared.plan.get(), memory.record()};
  const Owned heard(out_of_turn(PyObject_VectorcallMethod, names.hear, given, 3, nullptr));
  return heard ? Ending::kDone : Ending::kError;
}

// Sees to it that there are workers, and room in the queue.
Ending prepare_start(const CpuQueue& queue) {
  const int64_t threads = threads_for(queue);
  if (threads < 0) return Ending::kError;
  const cpu::Stream& stream = *queue.stream;
  if (stream.pool().workers() >= threads &&
      stream.submitted() - stream.completed() < kMostWaiting) {
    return Ending::kDone;
  }
  const Owned ready(out_of_turn(PyObject_CallMethodNoArgs, queue.object, names.prepare_start));
  if (!ready) return Ending::kError;
  return ready.get() == Py_True ? Ending::kDone : Ending::kSlowPath;
}

// Keeps something until a stream has passed what was put there with a number, and has it called
// then. Runs no Python, where an interrupt could be raised. False: an error is set, and it stays
// for good.
bool keep_until(const CpuQueue& queue, int64_t place, PyObject* started) {
  const Owned number(PyLong_FromLongLong(place));
  const Owned due(number ? PyTuple_Pack(3, number.get(), started, Py_None) : nullptr);
  const Owned added(due ? out_of_turn(PyObject_CallOneArg, queue.append, due.get()) : nullptr);
  if (!added) Py_INCREF(started);
  return added && PySet_Add(queue.waiting, queue.object) == 0;
}

// Has the calls made that are due, if there are any. False: an error is set.
bool sweep(const CpuQueue& queue) {
  const Owned first(PySequence_GetItem(queue.items, 0));
  if (!first) {
    PyErr_Clear();
    return true;
  }
  const int64_t place = PyLong_AsLongLong(PyTuple_GetItem(first.get(), 0));
  if (place > queue.stream->completed()) return !PyErr_Occurred();
  const Owned swept(out_of_turn(PyObject_CallMethodNoArgs, queue.object, names.sweep));
  return static_cast<bool>(swept);
}

// Who is told what becomes of a started launch. None: it reports nothing. Null: an error is set.
Owned outcome_of(PyObject* op, const CpuQueue& queue, const Prepared& prepared,
                 const EndingUse& use) {
  if (slot(prepared.plan.get(), classes.is_quiet) == Py_True) return Owned::borrowed(Py_None);
  PyObject* context = use.context == nullptr ? Py_None : use.context;
  return call_python(classes.new_outcome, {op, context, queue.object});
}

// It was not begun after all.
Ending take_back(const Prepared& prepared, const RunMemory& memory, PyObject* outcome) {
  if (outcome != Py_None) {
    const Owned settled(out_of_turn(PyObject_CallMethodNoArgs, outcome, names.settle));
    if (!settled) return Ending::kError;
  }
  return put_back(prepared.plan.get(), memory.record()) ? Ending::kSlowPath : Ending::kError;
}

// Puts a launch on a stream of the CPU, behind what is there, for others to run it.
Ending start_here(PyObject* op, const CpuQueue& queue, const LaunchPlan& plan, Prepared& prepared,
                  const EndingUse& use) {
  const Ending ready = prepare_start(queue);
  if (ready != Ending::kDone) return ready;
  RunMemory memory(take_record(prepared.plan.get()));
  if (memory.record() == nullptr || !memory.find_job()) {
    return PyErr_Occurred() ? Ending::kError : Ending::kSlowPath;
  }
  if (spread(queue, memory.job()) < 0) return Ending::kError;
  const Owned outcome = outcome_of(op, queue, prepared, use);
  if (!outcome) return Ending::kError;
  const Owned started = new_started(queue, memory, prepared.plan.get(), prepared.held.get(),
                                    outcome.get());
  if (!started || !lists_work(queue.timeline_object)) return Ending::kError;
  int64_t place = 0;  // in the stream
  std::optional<TracedJobs> traced;
  if (prepared.trace) {
    traced.emplace(TracedJobs{*prepared.trace.before<cpu::Job*>(),
                              *prepared.trace.behind<cpu::Job*>(), Waits()});
  }
  const Listing listing{queue.timeline_object, started.get(), number_of_started(started.get())};
  const int64_t number =
      submit_launch(submission_of(queue, memory, use), plan, prepared.values(),
                    outcome.get() == Py_None ? nullptr : &listing,
                    traced ? &*traced : nullptr, place);
  if (number == kFailed) return Ending::kError;
  if (number == 0) return take_back(prepared, memory, outcome.get());
  number_of_started(started.get()) = number;
  prepared.outcome = Owned::borrowed(outcome.get());
  // First of all: the stream works with what these keep.
  const bool kept = keep_until(queue, place, started.get());
  if (traced && !keep_until(queue, place + 1, prepared.trace.object())) return Ending::kError;
  if (!kept || (traced && !prepared.trace.submitted(traced->waits))) return Ending::kError;
  return sweep(queue) ? Ending::kDone : Ending::kError;
}

// Whether a launch runs on the calling thread: that waits for it; or it has an event loop to run,
// and a launch that hardly takes any time had better not go elsewhere. Empty: an error is set.
std::optional<bool> runs_here(PyObject* code, const EndingUse& use) {
  if (use.waits || use.context == nullptr) return use.waits;
  if (!as_context(use.context).on_loop) return false;
  PyObject* given[] = {code, use.context};
  const Owned told(out_of_turn(PyObject_Vectorcall, classes.may_run_here, given, 2, nullptr));
  if (!told) return std::nullopt;
  return told.get() == Py_True;
}

}  // namespace

Ending end_on_cpu(PyObject* op, const CpuQueue& queue, Prepared& prepared, const EndingUse& use) {
  PyObject* address = slot(prepared.plan.get(), classes.cpu_address);
  if (address == nullptr) return Ending::kSlowPath;
  const auto& plan = *static_cast<const LaunchPlan*>(PyLong_AsVoidPtr(address));
  if (queue.stream->pool().is_stopped() || queue.stream->pool().is_lost()) return Ending::kSlowPath;
  const Ending packed = pack_passed(plan, classes.cpu_packing, prepared);
  if (packed != Ending::kDone) return packed;
  const std::optional<bool> here = runs_here(prepared.code.get(), use);
  if (!here) return Ending::kError;
  prepared.is_over = *here;
  return *here ? run_here(op, queue, plan, prepared, use)
               : start_here(op, queue, plan, prepared, use);
}

Ending PackedNumbers::pack_for_cpu(const LaunchPlan& plan, PyObject* its, PyObject* numbers) {
  if (has_no_numbers(plan, numbers)) return Ending::kDone;
  return pack(plan, its, classes.cpu_packing, numbers);
}

const LaunchPlan* cpu_plan_of(PyObject* plan) {
  if (classes.cpu_plan == nullptr || Py_TYPE(plan) != classes.cpu_plan) return nullptr;
  PyObject* address = slot(plan, classes.cpu_address);
  return address == nullptr ? nullptr : static_cast<const LaunchPlan*>(PyLong_AsVoidPtr(address));
}

Owned take_record(PyObject* plan) {
  PyObject* idle = slot(plan, classes.idle);
  if (idle != nullptr && PyList_Check(idle)) {
    Owned record = take_last(idle);
    if (record || PyErr_Occurred()) return record;
  }
  PyObject* launcher = slot(plan, classes.launcher);
  if (launcher == nullptr) {
    PyErr_SetString(PyExc_AttributeError, "a plan that was never initialized");
    return Owned();
  }
  return Owned(out_of_turn(PyObject_CallMethodNoArgs, launcher, names.record));
}

bool put_back(PyObject* plan, PyObject* record) {
  PyObject* idle = slot(plan, classes.idle);
  return idle != nullptr && PyList_Check(idle) && PyList_Append(idle, record) == 0;
}

bool set_cpu_launch_classes(PyObject* given) {
  Setup setup(given);
  CpuLaunchClasses found;
  found.cpu_plan = setup.type("CpuPlan", {{"given", &found.cpu_address},
                                          {"packing", &found.cpu_packing},
                                          {"_launcher", &found.launcher},
                                          {"_idle", &found.idle},
                                          {"is_quiet", &found.is_quiet}});
  found.may_run_here = setup.object("may_run_here");
  found.new_outcome = setup.object("new_outcome");
  if (!setup.ok()) return false;
  classes = found;
  return true;
}

PyTypeObject* cpu_plan_class() { return classes.cpu_plan; }

int add_cpu_launching(PyObject*) {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.hear = name("hear"),
           .prepare_start = name("prepare_start"),
           .record = name("record"),
           .settle = name("settle"),
           .sweep = name("sweep"),
           .zero = PyLong_FromLong(0)};
  return PyErr_Occurred() ? -1 : 0;
}

}  // namespace tw::py
