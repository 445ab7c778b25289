#include "python/op.hpp"

#include "python/borrowing.hpp"
#include "python/endings.hpp"
#include "python/location.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

PyTypeObject* op_type = nullptr;

namespace {

// What Python has for ops of all kinds.
struct OpClasses {
  PyObject* refuse_second_use = nullptr;  // raises for an op that was used before
};

OpClasses classes;

struct Names {
  PyObject* callers;
  PyObject* claim_at;
  PyObject* holds;
  PyObject* nothing;
  PyObject* spend;
  PyObject* spent;
  PyObject* warn_never_run;
};

Names names;

bool name_all() {
  const auto name = [](const char* text) { return PyUnicode_InternFromString(text); };
  names = {.callers = name("_callers"),
           .claim_at = name("claim_at"),
           .holds = name("holds"),
           .nothing = PyTuple_New(0),
           .spend = name("spend"),
           .spent = name("spent"),
           .warn_never_run = name("_warn_never_run")};
  return !PyErr_Occurred();
}

// Whether the interpreter is ending: modules may have lost their names already.
bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

void finalize(PyObject* self) {
  PyObject* used = as_op(self).used;  // null: an interrupt came before it was set
  if (used == nullptr || !PyTuple_Check(used) || PyTuple_GET_SIZE(used) > 0) return;
  if (is_finalizing()) return;
  // An error that is on its way goes on afterwards; nobody would hear one of a finalizer.
  const SavedError saved;
  const Owned told(out_of_turn(PyObject_CallMethodNoArgs, self, names.warn_never_run));
  if (!told) PyErr_WriteUnraisable(self);
}

// Notes the use of an op, unless it was used before.
PyObject* claim_here(PyObject* self, PyObject* user, PyObject* location) {
  if (as_op(self).used == nullptr || !PyTuple_CheckExact(as_op(self).used)) {
    PyErr_SetString(PyExc_AttributeError, "an op that was never initialized");
    return nullptr;
  }
  const Owned use(PyTuple_Pack(2, user, location));
  if (!use) return nullptr;
  // Asked for only now: garbage collection may have run Python.
  if (!is_used(&as_op(self).used)) {
    set_field(as_op(self).used, use.get());
    Py_RETURN_NONE;
  }
  return call_python(classes.refuse_second_use, {self, use.get()}).release();
}

PyObject* claim_at_method(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("claim_at", given, count, 2);
  PyObject* user = arguments.string();
  PyObject* location = arguments.object();
  return arguments.ok() ? claim_here(self, user, location) : nullptr;
}

PyObject* claim(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  if (count < 1 || count > 2 || !PyUnicode_Check(given[0])) {
    PyErr_SetString(PyExc_TypeError, "claim() takes a str, and a number of callers");
    return nullptr;
  }
  const Owned zero(PyLong_FromLong(0));
  const Caller stands = caller(count == 2 ? given[1] : zero.get());
  if (!stands || !py::claim_at(self, given[0], stands.location.get())) return nullptr;
  Py_RETURN_NONE;
}

PyObject* spend_method(PyObject* self, PyObject*) {
  if (PyObject_SetAttr(self, names.spent, Py_True) < 0) return nullptr;
  const Owned holds(PyObject_GetAttr(self, names.holds));
  if (!holds) return nullptr;
  if (!PyTuple_CheckExact(holds.get())) {
    PyErr_SetString(PyExc_TypeError, "`holds` is a tuple of names");
    return nullptr;
  }
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(holds.get()); ++i) {
    if (PyObject_SetAttr(self, PyTuple_GET_ITEM(holds.get(), i), Py_None) < 0) return nullptr;
  }
  Py_RETURN_NONE;
}

using Endings = EndingMethods<nullptr, home_of_op>;

PyMethodDef kMethods[] = {
    Endings::sync(),
    Endings::sync_on(),
    Endings::start(),
    Endings::start_on(),
    {"claim", as_method(in_turn<claim>), METH_FASTCALL,
     "Mark this op as used; a second use raises and names the first. Safe from any thread.\n\n"
     "So many callers are known to be Tilewright's own."},
    {"claim_at", as_method(in_turn<claim_at_method>), METH_FASTCALL,
     "Claim it, where the program is known to stand."},
    {"spend", in_turn<spend_method>, METH_NOARGS,
     "Let go of what the op was made of: it has run, and may stay in a variable for long."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"_built", T_OBJECT_EX, offsetof(OpObject, built), 0, "Where the program stood."},
    {"_used", T_OBJECT_EX, offsetof(OpObject, used), 0,
     "Who used it, and where; empty: nobody has."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kTypeSlots[] = {
    {Py_tp_doc, const_cast<char*>("An op: where it was built, and who has used it.")},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {Py_tp_traverse, as_slot(OpFields::visit)},
    {Py_tp_clear, as_slot(in_turn<OpFields::clear>)},
    {Py_tp_dealloc, as_slot(OpFields::free)},
    {Py_tp_finalize, as_slot(in_turn<finalize>)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.Op", sizeof(OpObject), 0, kBaseTypeFlags, kTypeSlots};

// The `__new__` of ops. What a class was called with is for its `__init__`.
PyObject* new_op(PyObject*, PyObject* const* given, Py_ssize_t count, PyObject*) {
  if (count < 1 || !PyType_Check(given[0]) ||
      !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(given[0]), op_type)) {
    PyErr_SetString(PyExc_TypeError, "new_op() takes a class of ops");
    return nullptr;
  }
  const Owned known(PyObject_GetAttr(given[0], names.callers));
  if (!known) return nullptr;
  const Caller stands = caller(known.get());
  const Owned nothing(stands ? PyTuple_New(0) : nullptr);
  if (!nothing) return nullptr;
  // That of `object`, which refuses abstract classes.
  Owned made(PyBaseObject_Type.tp_new(reinterpret_cast<PyTypeObject*>(given[0]), nothing.get(),
                                      nullptr));
  if (!made) return nullptr;
  set_field(as_op(made.get()).built, stands.location.get());
  set_field(as_op(made.get()).used, nothing.get());
  return made.release();
}

PyObject* is_op_function(PyObject*, PyObject* object) { return PyBool_FromLong(is_op(object)); }

PyObject* has_op_function(PyObject*, PyObject* values) {
  if (PyTuple_Check(values)) return PyBool_FromLong(has_op(values));
  const Owned found(PySequence_Tuple(values));
  return found ? PyBool_FromLong(has_op(found.get())) : nullptr;
}

PyObject* set_op_classes(PyObject*, PyObject* given) {
  Setup setup(given);
  OpClasses found;
  found.refuse_second_use = setup.object("refuse_second_use");
  if (!setup.ok()) return nullptr;
  classes = found;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"new_op", as_method(in_turn<new_op>), METH_FASTCALL | METH_KEYWORDS,
     "Make an op of a class, and remember the line that builds it."},
    {"is_op", in_turn<is_op_function>, METH_O, "Tell whether an object is an op."},
    {"has_op", in_turn<has_op_function>, METH_O, "Tell whether one of some values is an op."},
    {"set_op_classes", in_turn<set_op_classes>, METH_O,
     "Say what Python has for ops of all kinds."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* unused() { return Py_NewRef(names.nothing); }

bool has_op(PyObject* values) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(values); ++i) {
    if (is_op(PyTuple_GET_ITEM(values, i))) return true;
  }
  return false;
}

bool claim_at(PyObject* op, PyObject* user, PyObject* location) {
  PyObject* given[] = {op, user, location};
  const Owned claimed(out_of_turn(PyObject_VectorcallMethod, names.claim_at, given, 3, nullptr));
  return static_cast<bool>(claimed);
}

bool spend(PyObject* op) {
  const Owned spent(out_of_turn(PyObject_CallMethodNoArgs, op, names.spend));
  return static_cast<bool>(spent);
}

int flag_of(PyObject* op, PyObject* name) {
  const Owned found(PyObject_GetAttr(op, name));
  return found ? PyObject_IsTrue(found.get()) : -1;
}

int add_op(PyObject* module) {
  if (!name_all() || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  op_type = add_type(module, kSpec);
  return op_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
