#include "python/exported.hpp"

#include "python/array_memory.hpp"

namespace tw::py {

namespace {

PyObject* name_api = nullptr;
PyObject* name_dlpack = nullptr;
PyObject* name_requires_grad = nullptr;
PyObject* name_is_neg = nullptr;
PyObject* name_module = nullptr;

constexpr uint32_t kMajor = 1;  // the version of DLPack that is understood

bool has_method(PyObject* array, PyObject* name) {
  return PyObject_HasAttr(reinterpret_cast<PyObject*>(Py_TYPE(array)), name);
}

// What a type has under a name itself, and not by what it extends; empty: nothing.
Owned own_attribute(PyTypeObject* type, PyObject* name) {
#if PY_VERSION_HEX >= 0x030C0000
  const Owned attributes(PyType_GetDict(type));
#else
  const Owned attributes = Owned::borrowed(type->tp_dict);
#endif
  if (!attributes) return Owned();
  return item_of(attributes.get(), name);
}

// What is in a capsule that nobody has taken, in either form.
Exported in_capsule(Owned capsule) {
  Exported exported;
  PyObject* object = capsule.get();
  if (PyCapsule_IsValid(object, VersionedTensor::kCapsule)) {
    exported.versioned = static_cast<const VersionedTensor*>(
        PyCapsule_GetPointer(object, VersionedTensor::kCapsule));
    exported.tensor = exported.versioned->major == kMajor ? &exported.versioned->tensor : nullptr;
  } else if (PyCapsule_IsValid(object, ManagedTensor::kCapsule)) {
    exported.tensor = &static_cast<const ManagedTensor*>(
                           PyCapsule_GetPointer(object, ManagedTensor::kCapsule))->tensor;
  }
  exported.keeper = std::move(capsule);
  exported.is_capsule = true;
  return exported;
}

Owned call_dlpack(PyObject* array, PyObject* stream) {
  PyObject* given[] = {array, array_classes.version, stream};
  PyObject* wishes = stream != nullptr ? array_classes.gpu_wishes : array_classes.wishes;
  Owned capsule(out_of_turn(PyObject_VectorcallMethod, name_dlpack, given, 1, wishes));
  if (capsule || stream != nullptr || !PyErr_ExceptionMatches(PyExc_TypeError)) return capsule;
  PyErr_Clear();  // it knows the first version of the protocol alone
  return Owned(out_of_turn(PyObject_VectorcallMethod, name_dlpack, given, 1, nullptr));
}

}  // namespace

const ExchangeApi* exchange_api_of(PyObject* array) {
  const Owned capsule = own_attribute(Py_TYPE(array), name_api);
  if (!capsule || !PyCapsule_IsValid(capsule.get(), ExchangeApi::kCapsule)) return nullptr;
  const auto* api = static_cast<const ExchangeApi*>(
      PyCapsule_GetPointer(capsule.get(), ExchangeApi::kCapsule));
  while (api != nullptr && api->major > kMajor) api = api->previous;
  return api != nullptr && api->major == kMajor ? api : nullptr;
}

Exported export_by(const ExchangeApi& api, PyObject* array) {
  Exported exported;
  VersionedTensor* managed = nullptr;
  if (needs_gradient(array)) return exported;
  if (api.export_array(array, &managed) != 0 || managed == nullptr) {
    clear_unless_interrupted();
    return exported;
  }
  exported.keeper = keep_managed(managed);
  if (!exported.keeper) return exported;
  exported.versioned = managed;
  exported.tensor = managed->major == kMajor ? &managed->tensor : nullptr;
  return exported;
}

Exported export_by_method(PyObject* array, PyObject* stream) {
  Owned capsule = call_dlpack(array, stream);
  if (capsule) return in_capsule(std::move(capsule));
  clear_unless_interrupted();
  return Exported();
}

bool needs_gradient(PyObject* array) {
  const Owned wants(PyObject_GetAttr(array, name_requires_grad));
  if (!wants) PyErr_Clear();
  return wants.get() == Py_True;
}

int is_negated(PyObject* array) {
  if (!has_method(array, name_is_neg)) return 0;
  const Owned told(out_of_turn(PyObject_CallMethodNoArgs, array, name_is_neg));
  return told ? PyObject_IsTrue(told.get()) : -1;
}

int is_read_only(PyObject* array, const VersionedTensor* managed) {
  // As NumPy has it: what could not say so may be.
  if (managed == nullptr || (managed->flags & VersionedTensor::kReadOnly) != 0) return 1;
  const Owned module(PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(array)), name_module));
  if (!module) {
    PyErr_Clear();
    return 0;
  }
  if (!PyUnicode_Check(module.get())) return 0;
  const Py_ssize_t length = PyUnicode_GET_LENGTH(module.get());
  const Py_ssize_t dot = PyUnicode_FindChar(module.get(), '.', 0, length, 1);
  const Owned package(PyUnicode_Substring(module.get(), 0, dot < 0 ? length : dot));
  return package ? PySet_Contains(array_classes.immutable, package.get()) : -1;
}

bool clear_unless_interrupted() {
  if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception)) PyErr_Clear();
  return PyErr_Occurred() == nullptr;
}

bool prepare_exports() {
  name_api = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  name_dlpack = PyUnicode_InternFromString("__dlpack__");
  name_requires_grad = PyUnicode_InternFromString("requires_grad");
  name_is_neg = PyUnicode_InternFromString("is_neg");
  name_module = PyUnicode_InternFromString("__module__");
  return PyErr_Occurred() == nullptr;
}

}  // namespace tw::py
