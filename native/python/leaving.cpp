#include "python/leaving.hpp"

#include "python/module.hpp"
#include "python/types.hpp"

namespace tw::py {

namespace {

PyObject* trimmer = nullptr;  // takes an error and changes its traceback
PyObject* publisher = nullptr;  // finds what is public by the function behind it

// A function that users call: it calls another one, and trims the error that leaves it. It makes no
// frame, takes no reference to an argument, and is that function for whoever looks at it.
struct PublicObject {
  PyObject_HEAD
  vectorcallfunc call;
  PyObject* weak_references;
  PyObject* function;
};

using PublicFields = Fields<PublicObject, NoFields, offsetof(PublicObject, function)>;

PyTypeObject* public_type = nullptr;

PublicObject& as_public(PyObject* self) { return *reinterpret_cast<PublicObject*>(self); }

PyObject* call_public(PyObject* self, PyObject* const* given, size_t count, PyObject* names) {
  return leaving(PyObject_Vectorcall(as_public(self).function, given, count, names));
}

PyObject* make_public(PyObject*, PyObject* function) {
  if (!PyFunction_Check(function)) {
    PyErr_Format(PyExc_TypeError, "make_public() takes a function, got %.100s",
                 Py_TYPE(function)->tp_name);
    return nullptr;
  }
  PyObject* made = public_type->tp_alloc(public_type, 0);
  if (made == nullptr) return nullptr;
  as_public(made).call = call_public;
  as_public(made).function = Py_NewRef(function);
  return made;
}

// A method bound to its object, as of a function.
PyObject* bound(PyObject* self, PyObject* object, PyObject*) {
  if (object == nullptr || object == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, object);
}

bool is_own_attribute(PyObject* name) {
  return PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0 ||
         PyUnicode_CompareWithASCIIString(name, "__reduce__") == 0 ||
         PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0;
}

PyObject* attribute(PyObject* self, PyObject* name) {
  if (is_own_attribute(name)) return PyObject_GenericGetAttr(self, name);
  return PyObject_GetAttr(as_public(self).function, name);
}

int set_attribute(PyObject* self, PyObject* name, PyObject* value) {
  return PyObject_SetAttr(as_public(self).function, name, value);
}

PyObject* representation(PyObject* self) { return PyObject_Repr(as_public(self).function); }

// It is pickled as the function, which is pickled by its name.
PyObject* reduce(PyObject* self, PyObject*) {
  return Py_BuildValue("(O(O))", publisher, as_public(self).function);
}

void free_public(PyObject* self) {
  if (as_public(self).weak_references != nullptr) PyObject_ClearWeakRefs(self);
  PublicFields::free(self);
}

PyObject* set_trimmer(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("set_trimmer", given, count, 2);
  PyObject* trims = arguments.object();
  PyObject* publishes = arguments.object();
  if (!arguments.ok()) return nullptr;
  set_field(trimmer, trims);
  set_field(publisher, publishes);
  Py_RETURN_NONE;
}

PyMemberDef kMembers[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PublicObject, call), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PublicObject, weak_references), READONLY, nullptr},
    {"__wrapped__", T_OBJECT_EX, offsetof(PublicObject, function), READONLY, "What it calls."},
    {nullptr, 0, 0, 0, nullptr},
};

PyMethodDef kMethods[] = {
    {"__reduce__", reduce, METH_NOARGS, "Say how to find it."},
    {"__reduce_ex__", reduce, METH_O, "Say how to find it."},
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_doc, const_cast<char*>("A function whose errors show no frames of Tilewright.")},
    {Py_tp_call, as_slot(PyVectorcall_Call)},
    {Py_tp_descr_get, as_slot(bound)},
    {Py_tp_getattro, as_slot(attribute)},
    {Py_tp_setattro, as_slot(set_attribute)},
    {Py_tp_repr, as_slot(representation)},
    {Py_tp_members, kMembers},
    {Py_tp_methods, kMethods},
    {Py_tp_traverse, as_slot(PublicFields::visit)},
    {Py_tp_clear, as_slot(PublicFields::clear)},
    {Py_tp_dealloc, as_slot(free_public)},
    {0, nullptr},
};

constexpr unsigned kFlags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                            Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR |
                            Py_TPFLAGS_DISALLOW_INSTANTIATION;

PyType_Spec kSpec = {"tilewright._core.Public", sizeof(PublicObject), 0, kFlags, kSlots};

PyMethodDef kFunctions[] = {
    {"make_public", make_public, METH_O, "Return a function whose errors are trimmed."},
    fast_method("set_trimmer", set_trimmer,
                "Say what trims errors, and what finds a public function by the one behind it."),
    {nullptr, nullptr, 0, nullptr},
};

// The error that is set, taken away; its traceback is its own.
Owned take_error() {
#if PY_VERSION_HEX >= 0x030C0000
  return Owned(PyErr_GetRaisedException());
#else
  PyObject *kind = nullptr, *error = nullptr, *trace = nullptr;
  PyErr_Fetch(&kind, &error, &trace);
  PyErr_NormalizeException(&kind, &error, &trace);
  if (trace != nullptr) PyException_SetTraceback(error, trace);
  Py_XDECREF(kind);
  Py_XDECREF(trace);
  return Owned(error);
#endif
}

void set_error(Owned error) {
#if PY_VERSION_HEX >= 0x030C0000
  PyErr_SetRaisedException(error.release());
#else
  PyObject* kind = Py_NewRef(reinterpret_cast<PyObject*>(Py_TYPE(error.get())));
  PyObject* trace = PyException_GetTraceback(error.get());
  PyErr_Restore(kind, error.release(), trace);
#endif
}

}  // namespace

void trim_error() {
  if (trimmer == nullptr || !PyErr_Occurred()) return;
  Owned error = take_error();
  const Owned done(out_of_turn(PyObject_CallOneArg, trimmer, error.get()));
  if (!done) PyErr_WriteUnraisable(trimmer);
  set_error(std::move(error));
}

int add_leaving(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &kSpec, nullptr);
  public_type = reinterpret_cast<PyTypeObject*>(type);
  return type == nullptr ? -1 : PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tw::py
