#include "python/slots.hpp"

#include <structmember.h>

#include <algorithm>

namespace tw::py {

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

bool find_slots(PyObject* cls, const SlotName* names, size_t count) {
  const auto is_known = [cls](const SlotName& each) { return slot_offset(cls, each.name) >= 0; };
  if (!std::all_of(names, names + count, is_known)) return false;
  std::for_each(names, names + count,
                [cls](const SlotName& each) { *each.offset = slot_offset(cls, each.name); });
  return true;
}

}  // namespace tw::py
