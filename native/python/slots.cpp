#include "python/slots.hpp"

#include <structmember.h>

#include <algorithm>

#include "python/module.hpp"

namespace tw::py {

namespace {

PyObject* slot_offset(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("slot_offset", given, count, 2);
  PyObject* cls = arguments.type();
  PyObject* name = arguments.string();
  const char* text = arguments.ok() ? PyUnicode_AsUTF8(name) : nullptr;
  if (text == nullptr) return nullptr;
  const int64_t offset = py::slot_offset(cls, text);
  return offset < 0 ? nullptr : PyLong_FromLongLong(offset);
}

PyObject* bytes_address(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("bytes_address", given, count, 1);
  const char* bytes = arguments.bytes();
  return arguments.ok() ? PyLong_FromVoidPtr(const_cast<char*>(bytes)) : nullptr;
}

// Whether all is as a shape must be: a tuple of at most so many ints that 64 bits hold, none of
// them below the least.
PyObject* is_shape(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("is_shape", given, count, 3);
  PyObject* shape = arguments.object();
  const int64_t least = arguments.number();
  const int64_t rank = arguments.number();
  if (!arguments.ok()) return nullptr;
  if (!PyTuple_CheckExact(shape) || PyTuple_GET_SIZE(shape) > rank) Py_RETURN_FALSE;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(shape); ++i) {
    PyObject* extent = PyTuple_GET_ITEM(shape, i);
    int overflow = 0;
    if (!PyLong_CheckExact(extent)) Py_RETURN_FALSE;
    if (PyLong_AsLongLongAndOverflow(extent, &overflow) < least || overflow != 0) Py_RETURN_FALSE;
  }
  Py_RETURN_TRUE;
}

PyMethodDef kMethods[] = {
    fast_method("is_shape", in_turn<is_shape>, "Tell whether a tuple is a shape as it is."),
    fast_method("bytes_address", in_turn<bytes_address>, "Find where the contents of bytes are."),
    fast_method("slot_offset", in_turn<slot_offset>, "Find where objects of a class keep a slot."),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int64_t slot_offset(PyObject* cls, const char* name) {
  const Owned member(PyObject_GetAttrString(cls, name));
  if (!member) return -1;
  if (PyType_Check(cls) && Py_IS_TYPE(member.get(), &PyMemberDescr_Type)) {
    const PyMemberDef& found = *reinterpret_cast<PyMemberDescrObject*>(member.get())->d_member;
    if (found.type == T_OBJECT_EX) return found.offset;
  }
  PyErr_Format(PyExc_TypeError, "%s of %R is no slot", name, cls);
  return -1;
}

Owned take_last(PyObject* list) {
#ifdef Py_GIL_DISABLED
  static PyObject* const pop = PyUnicode_InternFromString("pop");
  Owned item(out_of_turn(PyObject_CallMethodNoArgs, list, pop));
  if (!item && PyErr_ExceptionMatches(PyExc_IndexError)) PyErr_Clear();
  return item;
#else
  const Py_ssize_t last = PyList_GET_SIZE(list) - 1;
  if (last < 0) return Owned();
  // As `list.pop` does where it keeps the room.
  Owned item(PyList_GET_ITEM(list, last));
  Py_SET_SIZE(list, last);
  return item;
#endif
}

bool find_slots(PyObject* cls, const SlotName* names, size_t count) {
  const auto is_known = [cls](const SlotName& each) { return slot_offset(cls, each.name) >= 0; };
  if (!std::all_of(names, names + count, is_known)) return false;
  std::for_each(names, names + count,
                [cls](const SlotName& each) { *each.offset = slot_offset(cls, each.name); });
  return true;
}

int add_slots(PyObject* module) { return PyModule_AddFunctions(module, kMethods); }

}  // namespace tw::py
