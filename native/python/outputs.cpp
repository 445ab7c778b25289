// What takes the outputs of a launch out of its results.
#include "python/memory.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// The base of `launch.operation.Outputs`.
struct OutputsObject {
  PyObject_HEAD
  int64_t count;      // how many results it is given
  PyObject* written;  // a tuple: which of these are outputs
};

using OutputsFields = Fields<OutputsObject, NoFields, offsetof(OutputsObject, written)>;

PyTypeObject* outputs_class = nullptr;  // launch.operation.Outputs
PyObject* zero = nullptr;
PyObject* name_one = nullptr;

// The tensor of a result.
Owned tensor_of(PyObject* self, PyObject* result) {
  if (Py_TYPE(self) == outputs_class) {
    Owned tensor = unpartitioned(result, zero);
    if (!tensor || tensor.get() != Py_None) return tensor;
  }
  return Owned(out_of_turn(PyObject_CallMethodOneArg, self, name_one, result));
}

PyObject* call(PyObject* self, PyObject* results, PyObject* keywords) {
  PyObject* written = as<OutputsObject>(self).written;
  if (keywords != nullptr || written == nullptr || !PyTuple_Check(written)) {
    PyErr_SetString(PyExc_TypeError, "results are given by position");
    return nullptr;
  }
  const Owned kept_alive = Owned::borrowed(written);
  const Py_ssize_t count = PyTuple_GET_SIZE(written);
  Owned tensors(PyTuple_New(count));
  for (Py_ssize_t i = 0; tensors && i < count; ++i) {
    const Py_ssize_t place = PyLong_AsSsize_t(PyTuple_GET_ITEM(written, i));
    PyObject* result = PyErr_Occurred() ? nullptr : PyTuple_GetItem(results, place);
    if (result == nullptr) return nullptr;
    Owned tensor = tensor_of(self, result);
    if (!tensor || count == 1) return tensor.release();
    PyTuple_SET_ITEM(tensors.get(), i, tensor.release());
  }
  return tensors.release();
}

int initialize(PyObject* self, PyObject* given, PyObject* keywords) {
  static const char* names[] = {"written", "count", nullptr};
  PyObject* written;
  long long count;
  if (!PyArg_ParseTupleAndKeywords(given, keywords, "O!L", const_cast<char**>(names),
                                   &PyTuple_Type, &written, &count)) {
    return -1;
  }
  as<OutputsObject>(self).count = count;
  set_field(as<OutputsObject>(self).written, written);
  return 0;
}

PyMemberDef kMembers[] = {
    {"result_count", T_LONGLONG, offsetof(OutputsObject, count), READONLY,
     "How many results it is given."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot kTypeSlots[] = {
    {Py_tp_doc, const_cast<char*>("Takes the outputs of a launch out of its results.")},
    {Py_tp_init, as_slot(in_turn<initialize>)},
    {Py_tp_call, as_slot(in_turn<call>)},
    {Py_tp_members, kMembers},
    {Py_tp_traverse, as_slot(OutputsFields::visit)},
    {Py_tp_clear, as_slot(in_turn<OutputsFields::clear>)},
    {Py_tp_dealloc, as_slot(OutputsFields::free)},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.Outputs", sizeof(OutputsObject), 0, kBaseTypeFlags,
                     kTypeSlots};

PyObject* set_outputs_class(PyObject*, PyObject* cls) {
  if (!PyType_Check(cls)) {
    PyErr_SetString(PyExc_TypeError, "a class is expected");
    return nullptr;
  }
  outputs_class = reinterpret_cast<PyTypeObject*>(Py_NewRef(cls));
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_outputs_class", in_turn<set_outputs_class>, METH_O,
     "Say of which class those are whose results are partitions."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_outputs(PyObject* module) {
  zero = PyLong_FromLong(0);
  name_one = PyUnicode_InternFromString("one");
  if (PyErr_Occurred() || PyModule_AddFunctions(module, kFunctions) < 0) return -1;
  return add_type(module, kSpec) == nullptr ? -1 : 0;
}

}  // namespace tw::py
