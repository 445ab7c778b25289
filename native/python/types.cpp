#include "python/types.hpp"

#include <vector>

namespace tw::py {

namespace {

#ifdef Py_GIL_DISABLED

PyObject* get_member(PyObject* self, void* member) {
  return PyMember_GetOne(reinterpret_cast<const char*>(self), static_cast<PyMemberDef*>(member));
}

int set_member(PyObject* self, PyObject* value, void* member) {
  return PyMember_SetOne(reinterpret_cast<char*>(self), static_cast<PyMemberDef*>(member), value);
}

// Whether it says of the type where something is: it is none of Python's attributes.
bool is_offset(const PyMemberDef& member) { return member.type == T_PYSSIZET; }

// A type whose members are properties, which take turns. What describes it stays for good.
class TypeInTurn {
 public:
  explicit TypeInTurn(const PyType_Spec& spec) : spec_(spec) {
    for (const PyType_Slot* each = spec.slots; each->slot != 0; ++each) add(*each);
    offsets_.push_back({nullptr, 0, 0, 0, nullptr});
    properties_.push_back({nullptr, nullptr, nullptr, nullptr, nullptr});
    slots_.push_back({Py_tp_members, offsets_.data()});
    slots_.push_back({Py_tp_getset, properties_.data()});
    slots_.push_back({0, nullptr});
    spec_.slots = slots_.data();
  }

  PyType_Spec& spec() { return spec_; }

 private:
  void add(const PyType_Slot& slot) {
    if (slot.slot == Py_tp_members) {
      for (auto* each = static_cast<PyMemberDef*>(slot.pfunc); each->name != nullptr; ++each) {
        if (is_offset(*each)) {
          offsets_.push_back(*each);
        } else {
          properties_.push_back(property(*each));
        }
      }
    } else if (slot.slot == Py_tp_getset) {
      for (auto* each = static_cast<PyGetSetDef*>(slot.pfunc); each->name != nullptr; ++each) {
        properties_.push_back(*each);
      }
    } else {
      slots_.push_back(slot);
    }
  }

  static PyGetSetDef property(PyMemberDef& member) {
    const bool is_readonly = (member.flags & READONLY) != 0;
    return {member.name, in_turn<get_member>, is_readonly ? nullptr : in_turn<set_member>,
            member.doc, &member};
  }

  PyType_Spec spec_;
  std::vector<PyType_Slot> slots_;
  std::vector<PyMemberDef> offsets_;
  std::vector<PyGetSetDef> properties_;
};

PyType_Spec& spec_in_turn(PyType_Spec& spec) { return (new TypeInTurn(spec))->spec(); }

#else

PyType_Spec& spec_in_turn(PyType_Spec& spec) { return spec; }

#endif

}  // namespace

PyTypeObject* add_type(PyObject* module, PyType_Spec& spec, PyTypeObject* base) {
  const Owned type(
      PyType_FromModuleAndSpec(module, &spec_in_turn(spec), reinterpret_cast<PyObject*>(base)));
  if (!type || PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type.get())) < 0) {
    return nullptr;
  }
  return reinterpret_cast<PyTypeObject*>(type.get());
}

}  // namespace tw::py
