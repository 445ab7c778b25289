#include "python/location.hpp"

#include <array>

#include "python/module.hpp"

namespace tw::py {

namespace {

// Tells by file name whether code is Tilewright's own: `base.location.OURS`, a dict.
PyObject* ours = nullptr;

// `sys._getframe`: it makes none of the frames between, as `PyFrame_GetBack` would.
PyObject* get_frame = nullptr;

// Whether a code object is Tilewright's own; -1: an error is set.
int is_ours(PyCodeObject* code) {
  if (ours == nullptr) return 0;
  PyObject* known = PyDict_GetItemWithError(ours, code->co_filename);
  if (known != nullptr) return known == Py_True;
  if (PyErr_Occurred()) return -1;
  const Owned found(PyObject_GetItem(ours, code->co_filename));  // asks `__missing__`
  if (!found) return -1;
  return found.get() == Py_True;
}

PyFrameObject* as_frame(const Owned& frame) {
  return reinterpret_cast<PyFrameObject*>(frame.get());
}

PyObject* code_of(const Owned& frame) {
  return reinterpret_cast<PyObject*>(PyFrame_GetCode(as_frame(frame)));
}

// The frame so many calls up the stack. Null without an error: there is none.
Owned frame_at(PyObject* known) {
  const int64_t up = PyLong_AsLongLong(known);
  if (up == -1 && PyErr_Occurred()) return Owned();
  if (up <= 0) return Owned(Py_XNewRef(reinterpret_cast<PyObject*>(PyEval_GetFrame())));
  Owned found(out_of_turn(PyObject_CallOneArg, get_frame, known));
  // The stack is not so deep.
  if (!found && PyErr_ExceptionMatches(PyExc_ValueError)) PyErr_Clear();
  return found;
}

// The innermost frame from this one on whose code is not ours. Null without an error: there is
// none.
Owned users_frame(Owned frame) {
  while (frame) {
    const Owned code(code_of(frame));
    const int mine = is_ours(reinterpret_cast<PyCodeObject*>(code.get()));
    if (mine < 0) return Owned();
    if (mine == 0) break;
    frame = Owned(reinterpret_cast<PyObject*>(PyFrame_GetBack(as_frame(frame))));
  }
  return frame;
}

PyObject* as_tuple(PyObject* code, int instruction) {
  const Owned number(PyLong_FromLong(instruction));
  return number ? PyTuple_Pack(2, code, number.get()) : nullptr;
}

constexpr size_t kSeen = 64;
std::array<SeenLocation, kSeen> seen_locations{};

SeenLocation& entry_of(PyObject* code, int instruction) {
  const auto high = reinterpret_cast<uintptr_t>(code) >> 4;
  const auto low = static_cast<uintptr_t>(instruction) >> 1;
  return seen_locations[(high + low) % kSeen];
}

// The entry of a location that was seen lately: it is a user's. Null: it was not.
SeenLocation* seen_at(PyObject* code, int instruction) {
  SeenLocation& entry = entry_of(code, instruction);
  return entry.code == code && entry.instruction == instruction ? &entry : nullptr;
}

SeenLocation* remember(PyObject* code, int instruction, PyObject* location) {
  SeenLocation& entry = entry_of(code, instruction);
  SeenLocation before =
      std::exchange(entry, SeenLocation{code, instruction, Py_NewRef(location), {}, {}});
  // At last, when the entry is whole: the end of code may run Python, which looks for locations.
  before.borrow.forget();
  before.use.forget();
  Py_XDECREF(before.location);
  return &entry;
}

Caller location_of(const Owned& frame, const Owned& code) {
  const int instruction = PyFrame_GetLasti(as_frame(frame));
  if (SeenLocation* seen = seen_at(code.get(), instruction)) {
    return Caller{Owned::borrowed(seen->location), seen};
  }
  Owned location(as_tuple(code.get(), instruction));
  if (!location) return Caller();
  SeenLocation* seen = remember(code.get(), instruction, location.get());
  return Caller{std::move(location), seen};
}

PyObject* set_ours(PyObject*, PyObject* table) {
  if (!PyDict_Check(table)) {
    PyErr_SetString(PyExc_TypeError, "set_ours() takes a dict");
    return nullptr;
  }
  Py_XSETREF(ours, Py_NewRef(table));
  Py_RETURN_NONE;
}

PyObject* location(PyObject*, PyObject* const* given, Py_ssize_t count) {
  if (count > 1) {
    PyErr_Format(PyExc_TypeError, "location() takes at most 1 argument, got %zd", count);
    return nullptr;
  }
  const Owned zero(PyLong_FromLong(0));
  return caller(count == 1 ? given[0] : zero.get()).location.release();
}

PyMethodDef kMethods[] = {
    {"set_ours", in_turn<set_ours>, METH_O,
     "Say by which dict files are told to be Tilewright's own."},
    fast_method(
        "location", in_turn<location>,
        "Find the innermost frame that is not Tilewright's own, `known` frames up or further."),
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

Caller caller(PyObject* known) {
  if (PyTuple_CheckExact(known)) return Caller{Owned::borrowed(known)};
  if (!PyLong_Check(known)) {
    PyErr_Format(PyExc_TypeError, "a location is told by an int or a tuple, got %.100s",
                 Py_TYPE(known)->tp_name);
    return Caller();
  }
  Owned frame = frame_at(known);
  if (frame) {
    const Owned code(code_of(frame));
    SeenLocation* seen = seen_at(code.get(), PyFrame_GetLasti(as_frame(frame)));
    if (seen != nullptr) return Caller{Owned::borrowed(seen->location), seen};
    frame = users_frame(std::move(frame));
  }
  if (frame) return location_of(frame, Owned(code_of(frame)));
  if (PyErr_Occurred()) return Caller();
  return Caller{Owned::borrowed(Py_None)};
}

int add_location(PyObject* module) {
  get_frame = Py_XNewRef(PySys_GetObject("_getframe"));
  if (get_frame == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "this Python has no sys._getframe");
    return -1;
  }
  return PyModule_AddFunctions(module, kMethods);
}

}  // namespace tw::py
