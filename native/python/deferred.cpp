#include "python/deferred.hpp"

#include "python/context.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// What Python has for launches that wait for others.
struct DeferClasses {
  PyObject* elsewhere = nullptr;         // what is yielded to go on elsewhere than on a loop
  PyObject* give_back = nullptr;         // lets what a launch took over be used again
  PyObject* pledge_arguments = nullptr;  // borrows the arguments that are there
};

DeferClasses classes;

struct Names {
  PyObject* bind;
  PyObject* borrowed;
  PyObject* check;
  PyObject* close;
  PyObject* execute;
  PyObject* host_data;
  PyObject* is_lengthy;
  PyObject* name;
  PyObject* run_closely;
  PyObject* throw_;
};

Names names;

bool name_all() {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.bind = name("_bind_plainly"),
           .borrowed = name("borrowed"),
           .check = name("check"),
           .close = name("close"),
           .execute = name("execute"),
           .host_data = name("host_data"),
           .is_lengthy = name("is_lengthy"),
           .name = name("name"),
           .run_closely = name("_run_closely"),
           .throw_ = name("throw")};
  return !PyErr_Occurred();
}

// The ops in a tuple, in order.
Owned ops_in(PyObject* values) {
  const Owned found(PyList_New(0));
  for (Py_ssize_t i = 0; found && i < PyTuple_GET_SIZE(values); ++i) {
    PyObject* each = PyTuple_GET_ITEM(values, i);
    if (is_op(each) && PyList_Append(found.get(), each) < 0) return Owned();
  }
  return found ? Owned(PyList_AsTuple(found.get())) : Owned();
}

// Raises if a borrow that began when a launch was built has ended.
bool check_pledges(PyObject* pledges) {
  const Owned each(PyObject_GetIter(pledges));
  while (each) {
    const Owned pledge(PyIter_Next(each.get()));
    if (!pledge) return !PyErr_Occurred();
    const Owned checked(PyObject_CallMethodNoArgs(pledge.get(), names.check));
    if (!checked) return false;
  }
  return false;
}

// The steps of a launch: a generator, as far as who drives it can tell.
struct StepsObject {
  PyObject_HEAD
  enum class State : char { kNew, kArguments, kBound, kClosely, kOver } state;
  Py_ssize_t next;  // the argument to look at next
  PyObject* launch;
  PyObject* context;
  PyObject* args;     // what the launch was given; null: it has not begun
  PyObject* values;   // a list: those of its arguments that are known
  PyObject* closely;  // the steps of Python, where something needs a closer look; null: none
};

using State = StepsObject::State;
using StepsFields = Fields<StepsObject, NoFields, offsetof(StepsObject, launch)>;

PyTypeObject* steps_type = nullptr;

StepsObject& as_steps(PyObject* self) { return *reinterpret_cast<StepsObject*>(self); }

// Takes the arguments out of the launch, which may stay in a variable. False: an error is set.
bool begin(StepsObject& steps) {
  LaunchObject& launch = as_launch(steps.launch);
  const Owned pledges = Owned::borrowed(launch.pledges);
  if (!LaunchFields::are_set(steps.launch) || !PyTuple_CheckExact(launch.args)) {
    PyErr_SetString(PyExc_AttributeError, "a launch has no attribute that it needs");
    return false;
  }
  if (!check_pledges(pledges.get())) return false;
  steps.values = PyList_New(0);
  steps.args = std::exchange(launch.args, PyTuple_New(0));
  if (steps.values == nullptr || launch.args == nullptr) return false;
  if (as_context(steps.context).lent == Py_None) return true;
  const Owned noted(PyObject_GetAttr(steps.context, names.borrowed));
  const Owned done(noted ? PyObject_Call(noted.get(), steps.args, nullptr) : nullptr);
  return static_cast<bool>(done);
}

// The next argument that is an op. None: all arguments are known. Null: an error is set.
Owned next_op(StepsObject& steps) {
  while (steps.next < PyTuple_GET_SIZE(steps.args)) {
    PyObject* arg = PyTuple_GET_ITEM(steps.args, steps.next++);
    if (is_op(arg)) return Owned::borrowed(arg);
    if (PyList_Append(steps.values, arg) < 0) return Owned();
  }
  return Owned::borrowed(Py_None);
}

// Whether the arguments are bound as those of any launch; below 0: an error is set.
int bind_plainly(StepsObject& steps) {
  if (as_context(steps.context).lent != Py_None) return 0;
  const Owned values(PyList_AsTuple(steps.values));
  const Owned bound(
      values ? PyObject_CallMethodOneArg(steps.launch, names.bind, values.get()) : nullptr);
  return bound ? PyObject_IsTrue(bound.get()) : -1;
}

int must_leave_loop(StepsObject& steps) {
  if (!as_context(steps.context).on_loop) return 0;
  const Owned lengthy(PyObject_CallMethodNoArgs(steps.launch, names.is_lengthy));
  return lengthy ? PyObject_IsTrue(lengthy.get()) : -1;
}

PySendResult done(PyObject* given, PyObject*& result) {
  result = given;
  return given == nullptr ? PYGEN_ERROR : PYGEN_RETURN;
}

PySendResult run_bound(StepsObject& steps, PyObject*& result) {
  PyObject* given[] = {steps.launch, steps.context};
  return done(PyObject_VectorcallMethod(names.execute, given, 2, nullptr), result);
}

// All arguments are known: runs the kernel, or has Python look closer.
PySendResult run(StepsObject& steps, PyObject*& result) {
  const int is_bound = bind_plainly(steps);
  if (is_bound < 0) return PYGEN_ERROR;
  if (is_bound > 0) {
    const int leaves = must_leave_loop(steps);
    if (leaves < 0) return PYGEN_ERROR;
    if (leaves == 0) return run_bound(steps, result);
    steps.state = State::kBound;
    result = Py_NewRef(classes.elsewhere);
    return PYGEN_NEXT;
  }
  PyObject* given[] = {steps.launch, steps.values, steps.context};
  steps.closely = PyObject_VectorcallMethod(names.run_closely, given, 3, nullptr);
  if (steps.closely == nullptr) return PYGEN_ERROR;
  steps.state = State::kClosely;
  return PyIter_Send(steps.closely, Py_None, &result);
}

PySendResult go_on(StepsObject& steps, PyObject* value, PyObject*& result) {
  switch (steps.state) {
    case State::kNew:
      if (!begin(steps)) return PYGEN_ERROR;
      steps.state = State::kArguments;
      break;
    case State::kArguments:
      if (PyList_Append(steps.values, value) < 0) return PYGEN_ERROR;
      break;
    case State::kBound:
      return run_bound(steps, result);
    case State::kClosely:
      return PyIter_Send(steps.closely, value, &result);
    case State::kOver:
      return done(Py_NewRef(Py_None), result);
  }
  Owned op = next_op(steps);
  if (!op) return PYGEN_ERROR;
  if (op.get() == Py_None) return run(steps, result);
  result = op.release();
  return PYGEN_NEXT;
}

// It will not run: lets what the launch was given be used again. An error that is set stays.
void fail(StepsObject& steps) {
  if (std::exchange(steps.state, State::kOver) == State::kNew || steps.args == nullptr) return;
  const SavedError saved;
  const Owned values(PyList_AsTuple(steps.values));
  const Owned all(values ? PySequence_Concat(values.get(), steps.args) : nullptr);
  if (all) call_python(classes.give_back, {all.get()});
}

PySendResult send(PyObject* self, PyObject* value, PyObject** result) {
  StepsObject& steps = as_steps(self);
  const Owned kept_alive = Owned::borrowed(self);
  *result = nullptr;
  const PySendResult sent = go_on(steps, value, *result);
  if (sent == PYGEN_ERROR) fail(steps);
  if (sent == PYGEN_RETURN) steps.state = State::kOver;
  return sent;
}

PyObject* throw_method(PyObject* self, PyObject* error) {
  StepsObject& steps = as_steps(self);
  const Owned kept_alive = Owned::borrowed(self);
  if (!PyExceptionInstance_Check(error)) {
    PyErr_SetString(PyExc_TypeError, "an error is expected");
    return nullptr;
  }
  if (steps.state == State::kClosely) {
    PyObject* given = PyObject_CallMethodOneArg(steps.closely, names.throw_, error);
    if (given == nullptr) fail(steps);
    return given;
  }
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error)), error);
  fail(steps);
  return nullptr;
}

PyObject* close_method(PyObject* self, PyObject*) {
  StepsObject& steps = as_steps(self);
  const Owned kept_alive = Owned::borrowed(self);
  const Owned closed(steps.state == State::kClosely
                         ? PyObject_CallMethodNoArgs(steps.closely, names.close)
                         : Py_NewRef(Py_None));
  if (steps.state != State::kOver) fail(steps);
  return closed ? Py_NewRef(Py_None) : nullptr;
}

PyMethodDef kStepsMethods[] = {
    {"throw", throw_method, METH_O, "Raise an error where it stands."},
    {"close", close_method, METH_NOARGS, "Give it up."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kStepsSlots[] = {
    {Py_tp_doc, const_cast<char*>("The steps of a launch whose arguments are ops.")},
    {Py_am_send, as_slot(send)},
    {Py_tp_methods, kStepsMethods},
    {Py_tp_traverse, as_slot(StepsFields::visit)},
    {Py_tp_clear, as_slot(StepsFields::clear)},
    {Py_tp_dealloc, as_slot(StepsFields::free)},
    {0, nullptr},
};

PyType_Spec kStepsSpec = {
    "tilewright._core.LaunchSteps", sizeof(StepsObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, kStepsSlots};

PyObject* set_defer_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  DeferClasses found;
  found.elsewhere = setup.object("ELSEWHERE");
  found.give_back = setup.object("give_back");
  found.pledge_arguments = setup.object("pledge_arguments");
  if (!setup.ok()) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_defer_classes", set_defer_classes, METH_O,
     "Say what Python has for launches that wait for argument ops."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool defer(PyObject* op) {
  LaunchObject& launch = as_launch(op);
  const Owned ops = ops_in(launch.args);
  if (!ops) return false;
  launch.staged = 1;
  const Owned pledges =
      call_python(classes.pledge_arguments, {launch.kernel, launch.args, launch.op.built});
  if (!pledges) return false;
  set_field(launch.pledges, pledges.get());
  set_field(launch.made_of, ops.get());
  const Owned name(PyObject_GetAttr(launch.kernel, names.name));
  if (!name) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ops.get()); ++i) {
    PyObject* each = PyTuple_GET_ITEM(ops.get(), i);
    const int host_data = flag_of(each, names.host_data);
    if (host_data < 0) return false;
    launch.host_data |= static_cast<char>(host_data);
    if (!claim_at(each, name.get(), launch.op.built)) return false;
  }
  return true;
}

PyObject* steps_of_launch(PyObject* launch, PyObject* context) {
  if (!check_context(context, "steps")) return nullptr;
  Owned made(steps_type->tp_alloc(steps_type, 0));
  if (!made) return nullptr;
  set_field(as_steps(made.get()).launch, launch);
  set_field(as_steps(made.get()).context, context);
  return made.release();
}

int add_deferred(PyObject* module) {
  if (!name_all() || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  steps_type = add_type(module, kStepsSpec);
  return steps_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
