#include "python/launching.hpp"

#include "python/borrowing.hpp"
#include "python/context.hpp"
#include "python/cpu_launching.hpp"
#include "python/cuda_launching.hpp"
#include "python/module.hpp"
#include "python/process.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// Classes of Python's that a launch meets, and where their objects keep what it looks at.
struct LaunchClasses {
  PyTypeObject* known = nullptr;  // launch.form.Known
  int64_t home = 0;               // the device of the tensors
  int64_t latest = 0;             // what was last asked for, its code, and how it is submitted
  int64_t ranges = 0;
  PyTypeObject* plans_by_numbers = nullptr;  // launch.foreign_code.PlansByNumbers
  PyTypeObject* cuda_plan = nullptr;  // launch.cuda_plan.CudaPlan
  int64_t cuda_address = 0;
  int64_t cuda_packing = 0;
  PyObject* tidy = nullptr;        // lets memory of what `bind` gave forget what is over
  PyObject* examine = nullptr;  // makes way for a launch, as far as Python can
  PyObject* settle = nullptr;     // takes from former owners what a launch was given, which ran
  PyObject* settle_started = nullptr;  // the same once it has run, as it was started
  PyObject* give_back = nullptr;  // lets them have it again
};

LaunchClasses classes;

struct Names {
  PyObject* asked;
  PyObject* borrowed;
  PyObject* choose;
  PyObject* code;
  PyObject* device;
  PyObject* has_passed;
  PyObject* mark_written;
  PyObject* outcome;
  PyObject* packed;
  PyObject* plan;
  PyObject* nobody;  // who uses an op that is a part of more
};

Names names;

bool name_all() {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.asked = name("asked"),
           .borrowed = name("borrowed"),
           .choose = name("choose"),
           .code = name("code"),
           .device = name("device"),
           .has_passed = name("has_passed"),
           .mark_written = name("mark_written"),
           .outcome = name("outcome"),
           .packed = name("packed"),
           .plan = name("plan"),
           .nobody = name("")};
  return !PyErr_Occurred();
}

// Whether `bind` gave it.
bool is_held(PyObject* held) {
  return held != Py_None && PyTuple_CheckExact(held) && PyTuple_GET_SIZE(held) >= kBehindRegions &&
         PyBytes_Check(row_in(held)) && Py_TYPE(known_in(held)) == classes.known;
}

// Finds the code of a launch, and how it is submitted.
Ending find_code(PyObject* known, PyObject* request, Prepared& prepared) {
  const SlotValue latest = slot_value(known, classes.latest);
  if (latest && PyTuple_Check(latest.get()) && PyTuple_GET_SIZE(latest.get()) == 3 &&
      PyTuple_GET_ITEM(latest.get(), 0) == request) {
    prepared.code = Owned::borrowed(PyTuple_GET_ITEM(latest.get(), 1));
    prepared.plan = Owned::borrowed(PyTuple_GET_ITEM(latest.get(), 2));
    return Ending::kDone;
  }
  const Owned found(out_of_turn(PyObject_CallMethodOneArg, known, names.asked, request));
  if (!found) return Ending::kError;
  if (!PyTuple_Check(found.get()) || PyTuple_GET_SIZE(found.get()) != 2) return Ending::kSlowPath;
  prepared.code = Owned::borrowed(PyTuple_GET_ITEM(found.get(), 0));
  prepared.plan = Owned::borrowed(PyTuple_GET_ITEM(found.get(), 1));
  return Ending::kDone;
}

// Where the code depends on the numbers of a launch: finds how one with these is submitted.
Ending choose_by_numbers(Prepared& prepared) {
  if (Py_TYPE(prepared.plan.get()) != classes.plans_by_numbers) return Ending::kDone;
  const Owned chosen(out_of_turn(PyObject_CallMethodOneArg, prepared.plan.get(), names.choose,
                                 prepared.numbers.get()));
  if (!chosen) return Ending::kError;
  if (!PyTuple_CheckExact(chosen.get()) || PyTuple_GET_SIZE(chosen.get()) != 2) {
    return Ending::kSlowPath;
  }
  prepared.plan = Owned::borrowed(PyTuple_GET_ITEM(chosen.get(), 0));
  prepared.numbers = Owned::borrowed(PyTuple_GET_ITEM(chosen.get(), 1));
  return Ending::kDone;
}

// Puts a launch on a stream of CUDA.
Ending end_there(PyObject* op, PyObject* stream, Prepared& prepared, const EndingUse& use) {
  PyObject* address = slot(prepared.plan.get(), classes.cuda_address);
  if (address == nullptr) return Ending::kSlowPath;
  const auto& plan = *static_cast<const LaunchPlan*>(PyLong_AsVoidPtr(address));
  const Ending packed = pack_passed(plan, classes.cuda_packing, prepared);
  if (packed != Ending::kDone) return packed;
  Owned reported;
  const CudaLaunch launch{op, stream, prepared.plan.get(), plan, prepared.held.get(),
                          prepared.row(), prepared.packed.words(), prepared.trace,
                          prepared.examination.get()};
  const Ending ending = end_on_cuda(launch, use, reported);
  if (ending == Ending::kDone && reported && use.context != nullptr) {
    prepared.outcome = Owned(PyObject_GetAttr(reported.get(), names.outcome));
    if (!prepared.outcome) return Ending::kError;
  }
  return ending;
}

// Lets memory forget work that is over; whether that may have been what kept a launch.
Ending tidy(PyObject* held) {
  const Owned tidied(out_of_turn(PyObject_CallOneArg, classes.tidy, held));
  if (!tidied) return Ending::kError;
  return tidied.get() == Py_True ? Ending::kDone : Ending::kSlowPath;
}

// Sees to it that what kept a launch is over, if that is all it needs: waits for work that comes
// before it if the caller waits anyway, or lets memory forget what is over. kDone: it may be tried
// again.
Ending make_way(const Prepared& prepared, const EndingUse& use) {
  if (prepared.waits.empty()) return tidy(prepared.held.get());
  return use.waits ? await_on_host(prepared.waits) : Ending::kSlowPath;
}

// Lets an op go of what it holds, as it has run; gives its arguments.
Owned let_go(LaunchObject& launch) {
  Owned args(launch.args);
  launch.args = PyTuple_New(0);
  set_field(launch.held, Py_None);
  set_field(launch.examined, Py_None);
  return args;
}

bool is_used(const EndingUse& use) {
  return use.used == nullptr || py::is_used(use.used);
}

// What launches of a plan have in common, of either kind; null: it is none, or has none yet.
const LaunchPlan* plan_in(PyObject* plan) {
  if (Py_TYPE(plan) != classes.cuda_plan) return cpu_plan_of(plan);
  PyObject* address = slot(plan, classes.cuda_address);
  return address == nullptr ? nullptr : static_cast<const LaunchPlan*>(PyLong_AsVoidPtr(address));
}

// Tells a trace of a launch, if one is recorded. False: an error is set.
bool trace(PyObject* op, PyObject* stream, Prepared& prepared) {
  if (is_untraced()) return true;
  const LaunchPlan* plan = plan_in(prepared.plan.get());
  return plan == nullptr ||
         prepared.trace.begin(op, stream, prepared.code.get(), prepared.held.get(), plan->written);
}

// Finds the code of a launch as the last one of its kind left it, or as Python has examined it.
Ending prepare(PyObject* op, Prepared& prepared) {
  const LaunchObject& launch = as_launch(op);
  prepared.numbers = Owned::borrowed(launch.numbers);
  if (prepared.examination) {
    prepared.code = Owned(PyObject_GetAttr(prepared.examination.get(), names.code));
    prepared.plan = Owned(PyObject_GetAttr(prepared.examination.get(), names.plan));
    if (!prepared.code || !prepared.plan) return Ending::kError;
  } else {
    const Ending found = find_code(known_in(prepared.held.get()), launch.request, prepared);
    if (found != Ending::kDone) return found;
  }
  return choose_by_numbers(prepared);
}

// Where a launch is to be submitted.
struct Place {
  PyObject* stream;
  bool is_on_cuda;
  CpuQueue queue;  // none: it is no stream of the CPU, or is capturing

  explicit Place(PyObject* given)
      : stream(given),
        is_on_cuda(is_cuda_stream(given)),
        queue(is_on_cuda ? CpuQueue() : cpu_queue_of(given)) {}

  // Whether that is where Python alone enqueues work, if it is a stream at all.
  bool is_pythons() const { return !is_on_cuda && !queue; }

  // Null: an error is set.
  Owned device() const {
    if (is_pythons()) return Owned(PyObject_GetAttr(stream, names.device));
    return Owned::borrowed(is_on_cuda ? device_of_cuda_stream(stream) : queue.device);
  }
};

// Submits a launch in the way of its plan. kSlowPath: nothing was done.
Ending submit(PyObject* op, const Place& place, Prepared& prepared, const EndingUse& use) {
  PyTypeObject* plan_class = Py_TYPE(prepared.plan.get());
  const bool fits = plan_class == (place.is_on_cuda ? classes.cuda_plan : cpu_plan_class());
  if (!fits) return end_by_call(op, place.stream, prepared, use);
  if (!trace(op, place.stream, prepared)) return Ending::kError;
  if (place.is_on_cuda) return end_there(op, place.stream, prepared, use);
  return place.queue ? end_on_cpu(op, place.queue, prepared, use) : Ending::kSlowPath;
}

// Submits a launch, and tries again as long as that has become possible meanwhile.
Ending submit_or_make_way(PyObject* op, const Place& place, Prepared& prepared,
                          const EndingUse& use) {
  bool awaited = false;
  Ending ending;
  do {
    prepared.waits = Waits();
    ending = submit(op, place, prepared, use);
    // Once: what has been passed, and was waited for, may still be listed as somebody's to hear of.
    if (awaited && !prepared.waits.empty()) break;
    awaited = !prepared.waits.empty();
  } while (ending == Ending::kSlowPath && (ending = make_way(prepared, use)) == Ending::kDone);
  return ending;
}

// How often Python examines a launch that could not be submitted: others may come between.
constexpr int kMostExaminations = 64;

// Has Python see to what only it knows: compiles the code, has the stream wait for work that it
// lists, and says what is wrong, if anything is. What cannot be ordered otherwise it waits for when
// it is asked again.
Ending examine(PyObject* op, const EndingUse& use, int tries, Prepared& prepared) {
  // Not before its use was noted: what is raised here ends it.
  if (use.used != nullptr || use.context == nullptr) return Ending::kSlowPath;
  const Owned count(PyLong_FromLong(tries));
  if (count) prepared.examination = call_python(classes.examine, {op, use.context, count.get()});
  return count && prepared.examination ? Ending::kDone : Ending::kError;
}

// What remains to be done for a launch that was submitted. False: an error is set.
bool conclude(PyObject* op, const EndingUse& use, const Prepared& prepared) {
  if (prepared.examination && !Owned(out_of_turn(PyObject_CallMethodNoArgs,
                                                 prepared.examination.get(), names.mark_written))) {
    return false;
  }
  if (!has_former_in(prepared.held.get())) return true;
  if (prepared.is_over) return static_cast<bool>(call_python(classes.settle, {op, use.context}));
  PyObject* outcome = prepared.outcome ? prepared.outcome.get() : Py_None;
  return static_cast<bool>(call_python(classes.settle_started, {op, use.context, outcome}));
}

bool is_captured(const EndingUse& use) {
  return use.context != nullptr && as_context(use.context).recording != Py_None;
}

// Submits a launch, or records it: at once if it is like the last one, else once Python has
// examined it.
Ending begin_and_submit(PyObject* op, PyObject* stream, const EndingUse& use, Prepared& prepared) {
  const Place place(stream);
  if (place.is_pythons() && use.context == nullptr) return Ending::kSlowPath;
  const Owned device = place.device();
  if (!device) return Ending::kError;
  const bool is_at_home = slot(known_in(prepared.held.get()), classes.home) == device.get();
  const bool must_examine = !is_at_home || is_captured(use);
  Ending ending = Ending::kSlowPath;
  for (int tries = must_examine ? 1 : 0;
       ending == Ending::kSlowPath && tries <= kMostExaminations; ++tries) {
    const Ending ready = tries == 0 ? Ending::kDone : examine(op, use, tries, prepared);
    if (ready != Ending::kDone) return ready;
    ending = prepare(op, prepared);
    if (ending != Ending::kDone) continue;
    ending = is_captured(use) ? record_by_call(op, prepared, use)
                              : submit_or_make_way(op, place, prepared, use);
  }
  return ending;
}

// Whether somebody may be left who gave away what a launch was given.
bool has_former(PyObject* op) {
  PyObject* held = as_launch(op).held;
  return is_held(held) && has_former_in(held);
}

Ending end_launch(PyObject* op, PyObject* stream, const EndingUse& use, Owned& result) {
  LaunchObject& launch = as_launch(op);
  if (!is_held(launch.held)) return Ending::kSlowPath;
  const Owned kept_alive = Owned::borrowed(stream);
  Prepared prepared{.held = Owned::borrowed(launch.held)};
  Ending ending = begin_and_submit(op, stream, use, prepared);
  if (ending == Ending::kDone && !conclude(op, use, prepared)) ending = Ending::kError;
  if (ending == Ending::kDone) {
    result = let_go(launch);
    return launch.args == nullptr ? Ending::kError : Ending::kDone;
  }
  if (ending == Ending::kError && is_used(use)) {
    const SavedError saved;
    const Owned dropped = let_go(launch);
  }
  return ending;
}

PyObject* set_launch_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  LaunchClasses found;
  found.known = setup.type("Known", {{"home", &found.home},
                                     {"latest", &found.latest},
                                     {"ranges", &found.ranges}});
  found.cuda_plan = setup.type("CudaPlan", {{"given", &found.cuda_address},
                                            {"packing", &found.cuda_packing}});
  found.plans_by_numbers = setup.type("PlansByNumbers");
  found.tidy = setup.object("tidy");
  found.examine = setup.object("examine");
  found.settle = setup.object("settle");
  found.settle_started = setup.object("settle_started");
  found.give_back = setup.object("give_back");
  if (!setup.ok() || !set_cpu_launch_classes(given) || !set_called_launch_classes(given)) {
    return nullptr;
  }
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_launch_classes", in_turn<set_launch_classes>, METH_O,
     "Say how what launches meet is laid out."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Ending accept_numbers(const LaunchPlan& plan, const Prepared& prepared) {
  if (plan.checks_numbers == 0) return Ending::kDone;
  const Owned passed(out_of_turn(PyObject_CallMethodOneArg, prepared.code.get(), names.has_passed,
                                 prepared.numbers.get()));
  if (!passed) return Ending::kError;
  return passed.get() == Py_True ? Ending::kDone : Ending::kSlowPath;
}

Ending pack_passed(const LaunchPlan& plan, int64_t packing_offset, Prepared& prepared) {
  PyObject* numbers = prepared.numbers.get();
  if (has_no_numbers(plan, numbers)) return Ending::kDone;
  const Ending accepted = accept_numbers(plan, prepared);
  if (accepted != Ending::kDone) return accepted;
  return prepared.packed.pack(plan, prepared.plan.get(), packing_offset, numbers);
}

Ending PackedNumbers::pack(const LaunchPlan& plan, PyObject* its, int64_t packing_offset,
                           PyObject* numbers) {
  PyObject* packing = slot(its, packing_offset);
  if (packing != nullptr && py::pack(packing, numbers, plan.numbers, own_)) {
    words_ = own_;
    return Ending::kDone;
  }
  if (PyErr_Occurred()) return Ending::kError;
  bytes_ = Owned(out_of_turn(PyObject_CallMethodOneArg, its, names.packed, numbers));
  if (!bytes_) return Ending::kError;
  if (!PyBytes_Check(bytes_.get()) || PyBytes_GET_SIZE(bytes_.get()) != 8 * plan.numbers) {
    return Ending::kSlowPath;
  }
  words_ = reinterpret_cast<const int64_t*>(PyBytes_AS_STRING(bytes_.get()));
  return Ending::kDone;
}

bool is_known(PyObject* object) { return Py_TYPE(object) == classes.known; }

PyObject* ranges_in(PyObject* known) { return slot(known, classes.ranges); }

bool is_surely_ready(PyObject* op) {
  const LaunchObject& launch = as_launch(op);
  if (!LaunchFields::are_set(op) || !is_held(launch.held)) return false;
  const Owned held = Owned::borrowed(launch.held);
  const SlotValue latest = slot_value(known_in(held.get()), classes.latest);
  if (!latest || !PyTuple_Check(latest.get()) || PyTuple_GET_SIZE(latest.get()) != 3 ||
      PyTuple_GET_ITEM(latest.get(), 0) != launch.request) {
    return false;
  }
  const Owned kept_alive = Owned::borrowed(PyTuple_GET_ITEM(latest.get(), 2));
  const LaunchPlan* plan = plan_in(kept_alive.get());
  return plan != nullptr && is_fresh(*plan) && !PyErr_Occurred();
}

PyObject* home_in(PyObject* held) {
  return is_held(held) ? slot(known_in(held), classes.home) : nullptr;
}

namespace {

// Notes what a launch gives back of what it was given: sharing its result must not take that over.
// One that waited for argument ops has done so. False: an error is set.
bool note_lent(PyObject* op, PyObject* context) {
  const Owned args = Owned::borrowed(as_launch(op).args);
  const Owned ops = Owned::borrowed(as_launch(op).made_of);
  if (!PyTuple_Check(args.get()) || (PyTuple_Check(ops.get()) && PyTuple_GET_SIZE(ops.get()) > 0)) {
    return true;
  }
  const Owned noted(PyObject_GetAttr(context, names.borrowed));
  return noted && Owned(out_of_turn(PyObject_Call, noted.get(), args.get(), nullptr));
}

}  // namespace

Ending end_alone(PyObject* op, PyObject* stream, const EndingUse& use, Owned& result) {
  if (!is_usual() || !OpFields::are_set(op) || !LaunchFields::are_set(op) ||
      py::is_used(use.used) || has_former(op)) {
    return Ending::kSlowPath;  // who may get something back is told when the result is delivered
  }
  return end_launch(op, stream, use, result);
}

Ending end_within(PyObject* op, PyObject* context, Owned& result) {
  if (!is_context(context) || !OpFields::are_set(op) ||
      !LaunchFields::are_set(op)) {
    return Ending::kSlowPath;
  }
  const ContextObject& its = as_context(context);
  if (its.lent != Py_None && !note_lent(op, context)) return Ending::kError;
  const EndingUse use{nullptr, names.nobody, its.waits != 0, 0, context};
  if (!has_former(op)) return end_launch(op, its.stream, use, result);
  const Owned args = Owned::borrowed(as_launch(op).args);
  const Ending ending = end_launch(op, its.stream, use, result);
  if (ending == Ending::kError) {
    const SavedError saved;
    call_python(classes.give_back, {args.get()});
  }
  return ending;
}

int add_launching(PyObject* module) {
  return name_all() ? PyModule_AddFunctions(module, kFunctions) : -1;
}

}  // namespace tw::py
