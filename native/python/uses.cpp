// Who uses an op, and what is done to memory: noted where the program stands.
#include "python/borrowing.hpp"

namespace tw::py {

namespace {

// The name of this thread. Null: an error is set.
PyObject* name_of_thread(const BorrowContext& borrows, bool is_main) {
  if (is_main) return Py_NewRef(object_of(borrows.main_thread_name));
  return PyObject_CallNoArgs(object_of(borrows.thread_name));
}

// `Use(what, location, thread)`, a tuple of a class of Python's, without a call of that.
PyObject* new_use(const BorrowContext& borrows, PyObject* what, PyObject* location, Owned thread) {
  auto* cls = static_cast<PyTypeObject*>(borrows.use_class);
  PyObject* use = PyType_GenericAlloc(cls, 3);
  if (use == nullptr) return nullptr;
  PyTuple_SET_ITEM(use, 0, Py_NewRef(what));
  PyTuple_SET_ITEM(use, 1, Py_NewRef(location));
  PyTuple_SET_ITEM(use, 2, thread.release());
  return use;
}

}  // namespace

PyObject* use_at(const BorrowContext& borrows, PyObject* what, PyObject* location,
                 SeenLocation* seen) {
  const bool is_main =
      static_cast<int64_t>(PyThread_get_thread_ident()) == borrows.main_thread;
  if (!is_main) seen = nullptr;  // notes are those of the main thread
  if (seen != nullptr) {
    if (PyObject* again = seen->borrow.find(what)) return Py_NewRef(again);
  }
  Owned thread(name_of_thread(borrows, is_main));
  if (!thread) return nullptr;
  PyObject* use = new_use(borrows, what, location, std::move(thread));
  if (use != nullptr) keep_note(seen, &SeenLocation::borrow, location, what, use);
  return use;
}

PyObject* use_here(const BorrowContext& borrows, PyObject* what, PyObject* known) {
  const Caller stands = caller(known);
  return stands ? use_at(borrows, what, stands.location.get(), stands.seen) : nullptr;
}

PyObject* first_use(PyObject* uses, PyObject* user, PyObject* known) {
  if (uses == Py_None) return Py_NewRef(user);
  if (is_used(uses)) return Py_NewRef(Py_None);
  const Caller stands = caller(known);
  if (!stands) return nullptr;
  if (stands.seen != nullptr) {
    if (PyObject* again = stands.seen->use.find(user)) return Py_NewRef(again);
  }
  PyObject* use = PyTuple_Pack(2, user, stands.location.get());
  if (use != nullptr) {
    keep_note(stands.seen, &SeenLocation::use, stands.location.get(), user, use);
  }
  return use;
}

bool note_first(PyObject* uses, PyObject* use) {
  return uses == Py_None || PyList_Append(uses, use) == 0;
}

void forget_first(PyObject* uses) {
  if (uses != Py_None) PyList_SetSlice(uses, 0, PyList_GET_SIZE(uses), nullptr);
}

void note_uses(const TensorUses& uses, const BorrowContext& borrows, PyObject* use) {
  for (int64_t i = 0; i < uses.written(); ++i) {
    set_slot(object_of(uses.tensor(i).state), borrows.last_write_offset, use);
  }
}

}  // namespace tw::py
