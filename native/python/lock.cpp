// The lock of borrow state as Python takes it, and for scopes of the core.
#include "core/lock.hpp"

#include "python/borrowing.hpp"
#include "python/module.hpp"
#include "python/types.hpp"

namespace tw::py {

namespace {

// Waits without the interpreter's lock, which its holder may need to go on.
void take() {
  if (borrow_lock().try_take()) return;
  const Unlocked unlocked;
  borrow_lock().take();
}

PyObject* acquire(PyObject*, PyObject*) {
  take();
  Py_RETURN_NONE;
}

PyObject* release(PyObject*, PyObject* const*, Py_ssize_t) {
  if (!borrow_lock().is_mine()) {
    PyErr_SetString(PyExc_RuntimeError, "this thread does not hold the lock of borrow state");
    return nullptr;
  }
  borrow_lock().release();
  Py_RETURN_NONE;
}

PyObject* is_mine(PyObject*, PyObject*) { return PyBool_FromLong(borrow_lock().is_mine()); }

PyMethodDef kMethods[] = {
    {"acquire", in_turn<acquire>, METH_NOARGS, "Take it, once nobody else holds it."},
    fast_method("release", in_turn<release>, "Give it up, as often as it was taken."),
    {"is_mine", in_turn<is_mine>, METH_NOARGS, "Whether this thread holds it."},
    {"__enter__", in_turn<acquire>, METH_NOARGS, "As `acquire`."},
    fast_method("__exit__", in_turn<release>, "As `release`."),
    {nullptr, nullptr, 0, nullptr},
};

PyType_Slot kSlots[] = {
    {Py_tp_doc, const_cast<char*>("The lock of borrow state; all of these are the same one.")},
    {Py_tp_methods, kMethods},
    {0, nullptr},
};

PyType_Spec kSpec = {"tilewright._core.BorrowLock", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT,
                     kSlots};

}  // namespace

BorrowLock::BorrowLock([[maybe_unused]] bool may_run_python) {
#ifndef Py_GIL_DISABLED  // a turn may be given up where Python has to wait for a lock of its own
  if (!may_run_python && borrow_lock().is_free()) return;
#endif
  take();
  is_taken_ = true;
}

BorrowLock::~BorrowLock() {
  if (is_taken_) borrow_lock().release();
}

int add_lock(PyObject* module) { return add_type(module, kSpec) == nullptr ? -1 : 0; }

}  // namespace tw::py
