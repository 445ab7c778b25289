#include "python/launch.hpp"

#include "python/context.hpp"
#include "python/deferred.hpp"
#include "python/launching.hpp"
#include "python/module.hpp"

namespace tw::py {

PyTypeObject* launch_type = nullptr;

namespace {

struct Names {
  PyObject* device;
  PyObject* execute;
  PyObject* must_compile;
  PyObject* name;
  PyObject* plan;
  PyObject* no_keywords;  // an empty mapping
  PyObject* nothing;      // the empty tuple
};

Names names;

bool name_all() {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.device = name("device"),
           .execute = name("execute_closely"),
           .must_compile = name("_must_compile"),
           .name = name("name"),
           .plan = name("_plan"),
           .no_keywords = PyDictProxy_New(Owned(PyDict_New()).get()),
           .nothing = PyTuple_New(0)};
  return !PyErr_Occurred();
}

// The first device that argument ops must run on, or None.
Owned home_of_arguments(PyObject* args) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
    if (!is_op(PyTuple_GET_ITEM(args, i))) continue;
    Owned home = home_of_op(PyTuple_GET_ITEM(args, i));
    if (!home || home.get() != Py_None) return home;
  }
  return Owned::borrowed(Py_None);
}

// The device its tensors live on, as far as is known before argument ops have run.
Owned home_of(PyObject* op) {
  const LaunchObject& launch = as_launch(op);
  if (!LaunchFields::are_set(op) || !PyTuple_Check(launch.args)) {
    PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute 'home'",
                 Py_TYPE(op)->tp_name);
    return Owned();
  }
  if (PyObject* home = home_in(launch.held)) return Owned::borrowed(home);
  if (launch.examined != Py_None) return Owned(PyObject_GetAttr(launch.examined, names.device));
  const Owned args = Owned::borrowed(launch.args);
  if (Py_EnterRecursiveCall(" in the arguments of a launch") != 0) return Owned();
  Owned home = home_of_arguments(args.get());
  Py_LeaveRecursiveCall();
  return home;
}

PyObject* get_home(PyObject* op, void*) { return home_of(op).release(); }

PyObject* get_name(PyObject* op, void*) {
  PyObject* kernel = as_launch(op).kernel;
  if (kernel != nullptr) return PyObject_GetAttr(kernel, names.name);
  PyErr_Format(PyExc_AttributeError, "'%.100s' object has no attribute '_kernel'",
               Py_TYPE(op)->tp_name);
  return nullptr;
}

PyObject* execute(PyObject* op, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  if (count == 1 && keywords == nullptr) {
    Owned result;
    switch (end_within(op, given[0], result)) {
      case Ending::kDone:
        return result.release();
      case Ending::kError:
        return nullptr;
      case Ending::kSlowPath:
        break;
    }
  }
  return call_slowly(names.execute, op, given, count, keywords);
}

PyObject* is_lengthy(PyObject* op, PyObject*) {
  if (is_surely_ready(op)) Py_RETURN_FALSE;
  return PyErr_Occurred() ? nullptr
                          : out_of_turn(PyObject_CallMethodNoArgs, op, names.must_compile);
}

PyObject* steps(PyObject* op, PyObject* context) { return steps_of_launch(op, context); }

PyObject* defer_method(PyObject* op, PyObject*) {
  if (!OpFields::are_set(op) || !LaunchFields::are_set(op) ||
      !PyTuple_CheckExact(as_launch(op).args)) {
    PyErr_SetString(PyExc_AttributeError, "a launch has no attribute that it needs");
    return nullptr;
  }
  return defer(op) ? Py_NewRef(Py_None) : nullptr;
}

Owned home_of_raw(PyObject* op) {
  PyObject* home = LaunchFields::are_set(op) ? home_in(as_launch(op).held) : nullptr;
  return home == nullptr ? home_of_op(op) : Owned::borrowed(home);
}

// Has Python say how a raw launch is submitted, where the core can. False: an error is set.
bool plan_raw(PyObject* op) {
  if (as_launch(op).held != Py_None) return true;
  return static_cast<bool>(Owned(out_of_turn(PyObject_CallMethodNoArgs, op, names.plan)));
}

// As the launch of a kernel, whose arguments nobody gets back.
Ending end_raw(PyObject* op, PyObject* stream, const EndingUse& use, Owned& result) {
  if (!plan_raw(op)) return Ending::kError;
  const Ending ending = end_alone(op, stream, use, result);
  if (ending != Ending::kDone) return ending;
  result = Owned::borrowed(Py_None);
  return spend(op) ? Ending::kDone : Ending::kError;
}

PyObject* execute_raw(PyObject* op, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  if (!plan_raw(op)) return nullptr;
  const Owned result(execute(op, given, count, keywords));
  return result ? Py_NewRef(Py_None) : nullptr;
}

using RawMethods = EndingMethods<end_raw, home_of_raw>;

PyMethodDef kRawMethods[] = {
    RawMethods::sync(),
    RawMethods::sync_on(),
    RawMethods::start(),
    RawMethods::start_on(),
    {"execute", as_method(in_turn<execute_raw>), METH_FASTCALL | METH_KEYWORDS,
     "Launch it as a part of other work."},
    {nullptr, nullptr, 0, nullptr},
};

using Methods = EndingMethods<end_alone, home_of>;

PyMethodDef kMethods[] = {
    Methods::sync(),
    Methods::sync_on(),
    Methods::start(),
    Methods::start_on(),
    {"is_lengthy", in_turn<is_lengthy>, METH_NOARGS, "Whether it must be compiled first."},
    {"steps", in_turn<steps>, METH_O, "The argument ops, then the kernel."},
    {"_defer", in_turn<defer_method>, METH_NOARGS, "Have it wait for its argument ops."},
    {"execute", as_method(in_turn<execute>), METH_FASTCALL | METH_KEYWORDS,
     "Run the kernel as a part of other work; argument ops run first."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"effect", T_BOOL, offsetof(LaunchObject, effect), 0,
     "Whether dropping it unused is a mistake."},
    {"staged", T_BOOL, offsetof(LaunchObject, staged), 0, "Whether argument ops run first."},
    {"host_data", T_BOOL, offsetof(LaunchObject, host_data), 0,
     "Whether the host must wait for the device before the result is there."},
    {"made_of", T_OBJECT_EX, offsetof(LaunchObject, made_of), 0, "The ops among its arguments."},
    {"_keywords", T_OBJECT_EX, offsetof(LaunchObject, keywords), 0, "What it was given by name."},
    {"_pledges", T_OBJECT_EX, offsetof(LaunchObject, pledges), 0,
     "Where some arguments are ops: the borrows of the others."},
    {"_args", T_OBJECT_EX, offsetof(LaunchObject, args), 0, "What the kernel was given."},
    {"_held", T_OBJECT_EX, offsetof(LaunchObject, held), 0,
     "The tensors, where none needs a closer look."},
    {"_examined", T_OBJECT_EX, offsetof(LaunchObject, examined), 0,
     "The arguments, where somebody has looked closer."},
    {"_kernel", T_OBJECT_EX, offsetof(LaunchObject, kernel), 0, "What it runs."},
    {"_numbers", T_OBJECT_EX, offsetof(LaunchObject, numbers), 0,
     "The numbers among the arguments, where the tensors need no closer look."},
    {"_request", T_OBJECT_EX, offsetof(LaunchObject, request), 0, "What it asks for besides."},
    {nullptr, 0, 0, 0, nullptr},
};

PyGetSetDef kProperties[] = {
    {"name", in_turn<get_name>, nullptr, "The kernel's name.", nullptr},
    {"home", in_turn<get_home>, nullptr,
     "The device its tensors live on, as far as is known before argument ops have run.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kTypeSlots[] = {
    {Py_tp_doc, const_cast<char*>("A kernel with its arguments.")},
    {Py_tp_getset, kProperties},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {Py_tp_traverse, as_slot(LaunchFields::visit)},
    {Py_tp_clear, as_slot(in_turn<LaunchFields::clear>)},
    {Py_tp_dealloc, as_slot(LaunchFields::free)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.Launch", sizeof(LaunchObject), 0, kBaseTypeFlags,
                     kTypeSlots};

PyType_Slot kRawSlots[] = {
    {Py_tp_doc, const_cast<char*>("A function of a module with its arguments.")},
    {Py_tp_methods, kRawMethods},
    {Py_tp_traverse, as_slot(LaunchFields::visit)},
    {Py_tp_clear, as_slot(in_turn<LaunchFields::clear>)},
    {Py_tp_dealloc, as_slot(LaunchFields::free)},
    {0, nullptr},
};

PyType_Spec kRawSpec = {"tilewright._core.RawLaunch", sizeof(LaunchObject), 0, kBaseTypeFlags,
                        kRawSlots};

}  // namespace

Owned new_launch(PyTypeObject* type, PyObject* kernel, PyObject* args, PyObject* request,
                 PyObject* location) {
  Owned made(type->tp_alloc(type, 0));
  if (!made) return made;
  LaunchObject& launch = as_launch(made.get());
  launch.effect = 1;
  launch.op.built = Py_NewRef(location);
  launch.op.used = unused();
  launch.args = Py_NewRef(args);
  launch.held = Py_NewRef(Py_None);
  launch.examined = Py_NewRef(Py_None);
  launch.kernel = Py_NewRef(kernel);
  launch.numbers = Py_NewRef(names.nothing);
  launch.request = Py_NewRef(request);
  launch.keywords = Py_NewRef(names.no_keywords);
  launch.pledges = Py_NewRef(names.nothing);
  launch.made_of = Py_NewRef(names.nothing);
  return made;
}

int add_launch(PyObject* module) {
  if (!name_all()) return -1;
  launch_type = add_type(module, kSpec, op_type);
  if (launch_type == nullptr) return -1;
  return add_type(module, kRawSpec, launch_type) == nullptr ? -1 : 0;
}

}  // namespace tw::py
