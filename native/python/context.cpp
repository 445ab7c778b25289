#include "python/context.hpp"

#include "python/location.hpp"
#include "python/module.hpp"

namespace tw::py {

namespace {

PyTypeObject* context_type = nullptr;
PyTypeObject* context_class = nullptr;  // op.context.ExecutionContext
PyObject* zero = nullptr;

// Fills in what every context begins with. False: an error is set.
bool begin(PyObject* self, PyObject* stream, bool waits) {
  ContextObject& context = as_context(self);
  const Owned outcomes(PyList_New(0));
  const Owned nothing(PyTuple_New(0));
  if (!outcomes || !nothing) return false;
  context.waits = waits;
  context.detached = context.in_flight = context.on_loop = 0;
  set_field(context.stream, stream);
  set_field(context.outcomes, outcomes.get());
  for (PyObject** field : {&context.recording, &context.lent, &context.settling, &context.setup,
                           &context.ended_at}) {
    set_field(*field, Py_None);
  }
  set_field(context.made, nothing.get());
  set_field(context.running, nothing.get());
  return true;
}

int initialize(PyObject* self, PyObject* args, PyObject* keywords) {
  static const char* const kNames[] = {"stream", "waits", nullptr};
  PyObject* stream = nullptr;
  int waits = 0;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|p:ExecutionContext",
                                   const_cast<char**>(kNames), &stream, &waits)) {
    return -1;
  }
  return begin(self, stream, waits != 0) ? 0 : -1;
}

PyObject* whence_method(PyObject* self, PyObject*) { return whence(as_context(self)).release(); }

PyMethodDef kMethods[] = {
    {"whence", in_turn<whence_method>, METH_NOARGS,
     "Find where the program stands that runs the ops that are under way."},
    {nullptr, nullptr, 0, nullptr},
};

PyMemberDef kMembers[] = {
    {"waits", T_BOOL, offsetof(ContextObject, waits), 0,
     "Whether the host waits at the end, so that work may as well run on the calling thread."},
    {"detached", T_BOOL, offsetof(ContextObject, detached), 0,
     "Whether nobody waits for the work: ops that borrow are refused."},
    {"in_flight", T_BOOL, offsetof(ContextObject, in_flight), 0,
     "Whether the result is given before the work is done: ops that give host data are refused."},
    {"on_loop", T_BOOL, offsetof(ContextObject, on_loop), 0,
     "Whether the calling thread runs an event loop: lengthy starts go to another thread."},
    {"stream", T_OBJECT_EX, offsetof(ContextObject, stream), 0, "Where work is put."},
    {"outcomes", T_OBJECT_EX, offsetof(ContextObject, outcomes), 0,
     "What became of the work started so far, in order."},
    {"recording", T_OBJECT, offsetof(ContextObject, recording), 0,
     "While capturing: what is recorded, beside the work itself."},
    {"lent", T_OBJECT, offsetof(ContextObject, lent), 0,
     "While the result is to be shared: what ops were passed that belongs to somebody else."},
    {"settling", T_OBJECT, offsetof(ContextObject, settling), 0,
     "What was given to ops that have run, until the result has reached who asked for it."},
    {"setup", T_OBJECT, offsetof(ContextObject, setup), 0,
     "While capturing: the stream on which memory is made ready; None: it must not be."},
    {"made", T_OBJECT_EX, offsetof(ContextObject, made), 0,
     "If detached: what ops run by `run` gave, which belongs to nobody else."},
    {"running", T_OBJECT_EX, offsetof(ContextObject, running), 0,
     "The ops that are under way, each run for the one before it."},
    {"ended_at", T_OBJECT, offsetof(ContextObject, ended_at), 0,
     "Where the program stands that runs them; None: it is to be found out."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kTypeSlots[] = {
    {Py_tp_doc, const_cast<char*>("What an op is given when it runs.")},
    {Py_tp_init, as_slot(in_turn<initialize>)},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {Py_tp_traverse, as_slot(ContextFields::visit)},
    {Py_tp_clear, as_slot(in_turn<ContextFields::clear>)},
    {Py_tp_dealloc, as_slot(ContextFields::free)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.Context", sizeof(ContextObject), 0, kBaseTypeFlags,
                     kTypeSlots};

}  // namespace

bool is_context(PyObject* object) {
  return PyObject_TypeCheck(object, context_type) && ContextFields::are_set(object) &&
         PyList_Check(as_context(object).outcomes);
}

bool check_context(PyObject* object, const char* function) {
  if (is_context(object)) return true;
  PyErr_Format(PyExc_TypeError, "%s() takes an ExecutionContext, got %.100s", function,
               Py_TYPE(object)->tp_name);
  return false;
}

Owned new_context(PyObject* stream, bool waits) {
  PyTypeObject* type = context_class == nullptr ? context_type : context_class;
  Owned made(type->tp_alloc(type, 0));
  if (made && !begin(made.get(), stream, waits)) return Owned();
  return made;
}

Owned whence(ContextObject& context) {
  if (context.ended_at == nullptr || context.ended_at == Py_None) {
    const Caller found = caller(zero);
    if (!found) return Owned();
    set_field(context.ended_at, found.location.get());
  }
  return Owned::borrowed(context.ended_at);
}

bool set_context_class(PyTypeObject* type) {
  if (!PyType_IsSubtype(type, context_type)) {
    PyErr_SetString(PyExc_TypeError, "a class of contexts is expected");
    return false;
  }
  context_class = type;
  return true;
}

int add_context(PyObject* module) {
  zero = PyLong_FromLong(0);
  context_type = zero == nullptr ? nullptr : add_type(module, kSpec);
  return context_type == nullptr ? -1 : 0;
}

}  // namespace tw::py
