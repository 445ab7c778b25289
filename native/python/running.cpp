#include "python/running.hpp"

#include <vector>

#include "python/link.hpp"
#include "python/module.hpp"
#include "python/process.hpp"
#include "python/run_inline.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// What Python has for running ops.
struct RunClasses {
  PyObject* begin_step = nullptr;         // tells a trace that an op goes on
  PyObject* elsewhere = nullptr;          // what steps yield to go on elsewhere than on a loop
  PyObject* end_step = nullptr;           // tells it that an op has asked for something, or ended
  PyObject* execute_traced = nullptr;     // executes an op, which a trace sees
  PyObject* give_back_parts = nullptr;    // lets parts that will not run give back all
  PyObject* named = nullptr;              // adds a note to an error that it passed an op
  PyObject* raise_first_error = nullptr;  // raises the first error of some outcomes
  PyObject* wait_for = nullptr;           // waits for an event on the calling thread
};

RunClasses classes;

struct Names {
  PyObject* close;
  PyObject* execute;
  PyObject* holds;
  PyObject* is_lengthy;
  PyObject* name;
  PyObject* staged;
  PyObject* steps;
  PyObject* throw_;
};

Names names;

bool name_all() {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.close = name("close"),
           .execute = name("execute"),
           .holds = name("holds"),
           .is_lengthy = name("is_lengthy"),
           .name = name("name"),
           .staged = name("staged"),
           .steps = name("steps"),
           .throw_ = name("throw")};
  return !PyErr_Occurred();
}

// An op that is under way.
struct Frame {
  Owned op;
  Owned steps;  // none: it is a link of a chain
};

// An op that is being run, up to the next event that must be waited for.
struct ProgressObject {
  PyObject_HEAD
  std::vector<Frame>* stack;  // the ops that are under way, each run for the one before it
  bool is_advancing;
  bool has_waited;  // whether the caller has seen an event pass
  PyObject* context;
  PyObject* op;
  PyObject* name;
  PyObject* entered;   // the op to begin with next; null: none
  PyObject* running;   // a list of these ops, for others to look at
  PyObject* ended_at;  // where the program stands, as the context knows it
  PyObject* result;    // null: it is not there
};

using ProgressFields = Fields<ProgressObject, NoFields, offsetof(ProgressObject, context)>;

PyTypeObject* progress_type = nullptr;

ProgressObject& as_progress(PyObject* self) { return *reinterpret_cast<ProgressObject*>(self); }

// Takes the error that is set, if ops hear of it. Null: it is an interrupt, and stays set.
Owned caught() {
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return Owned();
#if PY_VERSION_HEX >= 0x030C0000
  return Owned(PyErr_GetRaisedException());
#else
  PyObject* kind = nullptr;
  PyObject* error = nullptr;
  PyObject* trace = nullptr;
  PyErr_Fetch(&kind, &error, &trace);
  PyErr_NormalizeException(&kind, &error, &trace);
  if (trace != nullptr) PyException_SetTraceback(error, trace);
  Py_XDECREF(kind);
  Py_XDECREF(trace);
  return Owned(error);
#endif
}

void raise(PyObject* error) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(Py_NewRef(error));
#else
  PyErr_Restore(Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(error))), Py_NewRef(error),
                PyException_GetTraceback(error));
#endif
}

// What the ops that are under way pass on to each other: a value, or an error.
struct Passed {
  Owned value;
  Owned error;

  // Takes over what a call gave. False: it was interrupted.
  bool take(Owned given) {
    value = std::move(given);
    error = value ? Owned() : caught();
    return value || error;
  }
};

class Driver {
 public:
  explicit Driver(ProgressObject& progress)
      : progress_(progress), context_(as_context(progress.context)) {}

  // The event that must be waited for, or None: the result is there. Null: an error is set.
  Owned advance();

 private:
  bool begin(Owned& op, Passed& passed);
  Owned first_of(Owned op);
  int must_leave_loop(PyObject* op);
  bool enter(PyObject* op, Passed& passed);
  bool execute(PyObject* op, Passed& passed);
  enum class Sent { kAsked, kEnded, kInterrupted };
  Sent send(Passed& passed, Owned& asked);
  bool resume(Passed& passed, Owned& asked);
  bool pass_on(Passed& passed, Owned& op);
  bool leave(Passed& passed);
  bool push(PyObject* op, Owned steps);
  bool name_error(Passed& passed, PyObject* op);

  const Frame& innermost() const { return progress_.stack->back(); }
  Owned leave_for(Owned event, bool is_elsewhere);

  ProgressObject& progress_;
  ContextObject& context_;
};

bool Driver::push(PyObject* op, Owned steps) {
  if (PyList_Append(progress_.running, op) < 0) return false;
  progress_.stack->push_back({Owned::borrowed(op), std::move(steps)});
  return true;
}

// Takes the innermost op off the stack. False: an error is set.
bool pop(ProgressObject& progress) {
  const Frame last = std::move(progress.stack->back());
  progress.stack->pop_back();
  const Py_ssize_t size = PyList_GET_SIZE(progress.running);
  return size == 0 || PyList_SetSlice(progress.running, size - 1, size, nullptr) == 0;
}

// The op that a chain begins with; its links wait for it. Null: an error is set.
Owned Driver::first_of(Owned op) {
  while (is_waiting_link(op.get())) {
    Owned before = Owned::borrowed(as_link(op.get()).source);
    if (!before || !push(op.get(), Owned())) return Owned();
    op = std::move(before);
  }
  return op;
}

// Whether an op would keep the event loop of this thread busy; below 0: an error is set.
int Driver::must_leave_loop(PyObject* op) {
  const Owned lengthy(out_of_turn(PyObject_CallMethodNoArgs, op, names.is_lengthy));
  const int is_lengthy = lengthy ? PyObject_IsTrue(lengthy.get()) : -1;
  if (is_lengthy != 0) return is_lengthy;
  if (!check_context(progress_.context, "advance")) return -1;
  const Owned stream = Owned::borrowed(context_.stream);
  return is_full(stream.get());
}

bool Driver::name_error(Passed& passed, PyObject* op) {
  return !passed.error ||
         static_cast<bool>(call_python(classes.named, {passed.error.get(), op}));
}

// Executes an op that has no steps. False: it was interrupted.
bool Driver::execute(PyObject* op, Passed& passed) {
  PyObject* context = progress_.context;
  PyObject* given[] = {op, context};
  const bool is_running = passed.take(
      is_untraced()
          ? Owned(out_of_turn(PyObject_VectorcallMethod, names.execute, given, 2, nullptr))
          : call_python(classes.execute_traced, {op, context}));
  const SavedError saved;
  const Owned holds(PyObject_GetAttr(op, names.holds));
  const int holds_any = holds ? PyObject_IsTrue(holds.get()) : -1;
  if (holds_any < 0 || (holds_any > 0 && !spend(op))) return false;
  return is_running;
}

// Runs an op that has no steps, or begins with its steps. False: it was interrupted.
bool Driver::enter(PyObject* op, Passed& passed) {
  const int staged = flag_of(op, names.staged);
  if (staged < 0) return false;
  if (staged == 0) return execute(op, passed) && name_error(passed, op);
  if (!passed.take(
          Owned(out_of_turn(PyObject_CallMethodOneArg, op, names.steps, progress_.context)))) {
    return false;
  }
  if (passed.error) return name_error(passed, op);
  return push(op, std::exchange(passed, {Owned::borrowed(Py_None), Owned()}).value);
}

// Hands the innermost op what it asked for, and takes what it asks next, or its end.
Driver::Sent Driver::send(Passed& passed, Owned& asked) {
  const Owned steps = Owned::borrowed(innermost().steps.get());
  PyObject* given = nullptr;
  PySendResult sent = PYGEN_ERROR;
  if (passed.error) {
    given = out_of_turn(PyObject_CallMethodOneArg, steps.get(), names.throw_, passed.error.get());
    passed.error = Owned();
    if (given != nullptr) {
      sent = PYGEN_NEXT;
    } else if (PyErr_ExceptionMatches(PyExc_StopIteration)) {
      const Owned stop = caught();
      given = Py_NewRef(reinterpret_cast<PyStopIterationObject*>(stop.get())->value);
      sent = PYGEN_RETURN;
    }
  } else {
    const Owned value = std::move(passed.value);
    sent = out_of_turn(PyIter_Send, steps.get(), value ? value.get() : Py_None, &given);
  }
  if (sent == PYGEN_NEXT) {
    asked = Owned(given);
    return Sent::kAsked;
  }
  return passed.take(Owned(given)) ? Sent::kEnded : Sent::kInterrupted;
}

// Lets the innermost op go on: gives what it asks next, or its end. False: it was interrupted.
bool Driver::resume(Passed& passed, Owned& asked) {
  const Owned op = Owned::borrowed(innermost().op.get());
  Owned step;
  if (!is_untraced()) {
    step = call_python(classes.begin_step, {op.get()});
    if (!step) return false;
  }
  const Sent sent = send(passed, asked);
  if (step) {
    const SavedError saved;
    PyObject* is_last = sent == Sent::kAsked ? Py_False : Py_True;
    const Owned told =
        call_python(classes.end_step, {step.get(), op.get(), progress_.context, is_last});
    if (!told) return false;
  }
  if (sent == Sent::kAsked) return true;
  return sent == Sent::kEnded && leave(passed);
}

// The same for a link of a chain: gives the op that it goes on with, or its end.
bool Driver::pass_on(Passed& passed, Owned& op) {
  const Owned link = Owned::borrowed(innermost().op.get());
  if (!passed.error && as_link(link.get()).waits) {
    if (!passed.take(go_on(link.get(), std::move(passed.value), progress_.context))) return false;
    if (!passed.error && leads(as_link(link.get()))) {
      op = std::move(passed.value);
      return true;
    }
  }
  return leave(passed);
}

// The innermost op is over. False: it was interrupted.
bool Driver::leave(Passed& passed) {
  const Owned op = Owned::borrowed(innermost().op.get());
  return spend(op.get()) && pop(progress_) && name_error(passed, op.get());
}

Owned Driver::leave_for(Owned event, bool is_elsewhere) {
  if (is_elsewhere) context_.on_loop = 0;
  progress_.has_waited = !is_elsewhere;
  return event;
}

// What to begin with: an op that was not entered, or the error of work that was waited for.
bool Driver::begin(Owned& op, Passed& passed) {
  op = Owned(std::exchange(progress_.entered, nullptr));
  passed.value = Owned::borrowed(Py_None);
  if (!std::exchange(progress_.has_waited, false)) return true;
  if (!check_context(progress_.context, "advance")) return false;
  return passed.take(call_python(classes.raise_first_error, {context_.outcomes}));
}

Owned Driver::advance() {
  Owned op;
  Passed passed;
  if (!begin(op, passed)) return Owned();
  while (op || !progress_.stack->empty()) {
    if (op) {
      op = first_of(std::move(op));
      const int leaves = op && context_.on_loop ? must_leave_loop(op.get()) : 0;
      if (!op || leaves < 0) return Owned();
      if (leaves > 0) {
        progress_.entered = op.release();
        return leave_for(Owned::borrowed(classes.elsewhere), true);
      }
      if (!enter(op.get(), passed)) return Owned();
      op = Owned();
      continue;
    }
    if (!innermost().steps) {
      if (!pass_on(passed, op)) return Owned();
      continue;
    }
    Owned asked;
    if (!resume(passed, asked)) return Owned();
    if (!asked) continue;
    if (!is_op(asked.get())) {
      const bool is_elsewhere = asked.get() == classes.elsewhere;
      return leave_for(std::move(asked), is_elsewhere);
    }
    op = std::move(asked);
  }
  if (passed.error) {
    raise(passed.error.get());
    return Owned();
  }
  set_field(progress_.result, passed.value.get());
  return Owned::borrowed(Py_None);
}

// The context as it is while an op is driven, for a scope.
class Inside {
 public:
  explicit Inside(ProgressObject& progress)
      : progress_(progress),
        context_(as_context(progress.context)),
        running_(Owned::borrowed(context_.running)),
        ended_at_(Owned::borrowed(context_.ended_at)) {
    set_field(context_.running, progress.running);
    set_field(context_.ended_at, progress.ended_at);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() {
    set_field(progress_.ended_at, context_.ended_at);
    set_field(context_.running, running_.get());
    set_field(context_.ended_at, ended_at_.get());
  }

 private:
  ProgressObject& progress_;
  ContextObject& context_;
  Owned running_;
  Owned ended_at_;
};

// Whether nobody drives it, or gives it up. False: an error is set.
bool is_at_rest(const ProgressObject& progress) {
  if (!progress.is_advancing) return true;
  PyErr_SetString(PyExc_RuntimeError, "this op is being driven by another call");
  return false;
}

// Notes that it is being driven, for a scope.
class Driven {
 public:
  explicit Driven(ProgressObject& progress) : progress_(progress) { progress.is_advancing = true; }
  Driven(const Driven&) = delete;
  Driven& operator=(const Driven&) = delete;
  ~Driven() { progress_.is_advancing = false; }

 private:
  ProgressObject& progress_;
};

Owned advance(PyObject* self) {
  ProgressObject& progress = as_progress(self);
  if (!is_at_rest(progress)) return Owned();
  const Owned kept_alive = Owned::borrowed(self);
  const Driven driven(progress);
  const Inside inside(progress);
  const Starting starting(progress.name);
  return starting.ok() ? Driver(progress).advance() : Owned();
}

// Gives up what has not been started yet. False: an error is set.
bool abandon(PyObject* self) {
  ProgressObject& progress = as_progress(self);
  if (!is_at_rest(progress)) return false;
  const Owned kept_alive = Owned::borrowed(self);
  const Driven driven(progress);
  while (!progress.stack->empty()) {
    const Owned op = Owned::borrowed(progress.stack->back().op.get());
    const Owned steps = Owned::borrowed(progress.stack->back().steps.get());
    if (steps) {
      const Owned closed(out_of_turn(PyObject_CallMethodNoArgs, steps.get(), names.close));
      if (!closed) return false;
    }
    if (!spend(op.get()) || !pop(progress)) return false;
  }
  return static_cast<bool>(call_python(classes.give_back_parts, {progress.op}));
}

Owned new_progress(PyObject* op, PyObject* context) {
  Owned name(PyObject_GetAttr(op, names.name));
  Owned running(name ? PyList_New(0) : nullptr);
  Owned made(running ? progress_type->tp_alloc(progress_type, 0) : nullptr);
  if (!made) return made;
  ProgressObject& progress = as_progress(made.get());
  progress.stack = new std::vector<Frame>();
  progress.context = Py_NewRef(context);
  progress.op = Py_NewRef(op);
  progress.name = name.release();
  progress.entered = Py_NewRef(op);
  progress.running = running.release();
  progress.ended_at = Py_NewRef(Py_None);
  return made;
}

PyObject* new_method(PyTypeObject*, PyObject* args, PyObject* keywords) {
  static const char* const kNames[] = {"op", "ctx", nullptr};
  PyObject* op = nullptr;
  PyObject* context = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O!O:Progress", const_cast<char**>(kNames),
                                   op_type, &op, &context) ||
      !check_context(context, "Progress")) {
    return nullptr;
  }
  return new_progress(op, context).release();
}

PyObject* advance_method(PyObject* self, PyObject*) { return advance(self).release(); }

PyObject* abandon_method(PyObject* self, PyObject*) {
  return abandon(self) ? Py_NewRef(Py_None) : nullptr;
}

int visit(PyObject* self, visitproc visit, void* arg) {
  if (as_progress(self).stack != nullptr) {
    for (const Frame& each : *as_progress(self).stack) {
      Py_VISIT(each.op.get());
      Py_VISIT(each.steps.get());
    }
  }
  return ProgressFields::visit(self, visit, arg);
}

int clear(PyObject* self) {
  std::vector<Frame> stack;
  if (as_progress(self).stack != nullptr) stack.swap(*as_progress(self).stack);
  return ProgressFields::clear(self);
}

void free_progress(PyObject* self) {
  PyObject_GC_UnTrack(self);
  in_turn<clear>(self);
  delete as_progress(self).stack;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyMethodDef kMethods[] = {
    {"advance", in_turn<advance_method>, METH_NOARGS,
     "Go on until an event must be waited for, which is given, or the result is there: None."},
    {"abandon", in_turn<abandon_method>, METH_NOARGS,
     "Give up what has not been started yet; what has been started goes on."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"ctx", T_OBJECT_EX, offsetof(ProgressObject, context), READONLY, "What its ops are given."},
    {"result", T_OBJECT_EX, offsetof(ProgressObject, result), READONLY, "What the op gave."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kTypeSlots[] = {
    {Py_tp_doc, const_cast<char*>("An op that is being run, up to the next event.")},
    {Py_tp_new, as_slot(in_turn<new_method>)},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {Py_tp_traverse, as_slot(visit)},
    {Py_tp_clear, as_slot(in_turn<clear>)},
    {Py_tp_dealloc, as_slot(free_progress)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.Progress", sizeof(ProgressObject), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, kTypeSlots};

PyObject* run_op(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("run_op", given, count, 2);
  PyObject* op = arguments.object();
  PyObject* context = arguments.object();
  if (!arguments.ok() || !check_context(context, "run_op")) return nullptr;
  if (!is_op(op)) {
    PyErr_Format(PyExc_TypeError, "run_op() takes an op, got %.100s", Py_TYPE(op)->tp_name);
    return nullptr;
  }
  return run_here(op, context).release();
}

PyObject* set_run_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  RunClasses found;
  found.elsewhere = setup.object("ELSEWHERE");
  found.begin_step = setup.object("begin_step");
  found.end_step = setup.object("end_step");
  found.execute_traced = setup.object("execute_traced");
  found.give_back_parts = setup.object("give_back_parts");
  found.named = setup.object("named");
  found.raise_first_error = setup.object("raise_first_error");
  found.wait_for = setup.object("wait_for");
  PyTypeObject* context = setup.type("ExecutionContext");
  if (!setup.ok() || !set_context_class(context)) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    fast_method("run_op", in_turn<run_op>,
                "Run an op to its result, waiting for events on the calling thread."),
    {"set_run_classes", in_turn<set_run_classes>, METH_O, "Say what Python has for running ops."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Owned run_here(PyObject* op, PyObject* context) {
  const Owned progress = new_progress(op, context);
  if (!progress) return Owned();
  Owned event = advance(progress.get());
  while (event && event.get() != Py_None) {
    if (!call_python(classes.wait_for, {event.get(), op, context})) {
      event = Owned();
      break;
    }
    event = advance(progress.get());
  }
  if (event) return Owned(std::exchange(as_progress(progress.get()).result, nullptr));
  const SavedError saved;  // which goes on
  abandon(progress.get());
  return Owned();
}

int add_running(PyObject* module) {
  if (!name_all() || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  progress_type = add_type(module, kSpec);
  return progress_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
