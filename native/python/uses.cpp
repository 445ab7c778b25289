// Who uses an op, and what is done to memory: noted where the program stands.
#include "python/borrowing.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

// What Python tells once: what a use is noted as.
struct BorrowContext {
  PyTypeObject* use_class = nullptr;
  int64_t main_thread = 0;  // the number of the main thread, which makes most launches
  PyObject* main_thread_name = nullptr;
  PyObject* thread_name = nullptr;  // gives the name of the thread that calls it
};

BorrowContext context;

PyObject* nothing = nullptr;  // the use of an op that nobody has used

// The name of this thread. Null: an error is set.
PyObject* name_of_thread(bool is_main) {
  if (is_main) return Py_NewRef(context.main_thread_name);
  return out_of_turn(PyObject_CallNoArgs, context.thread_name);
}

// `Use(what, location, thread)`, a tuple of a class of Python's, without a call of that.
PyObject* new_use(PyObject* what, PyObject* location, Owned thread) {
  PyObject* use = PyType_GenericAlloc(context.use_class, 3);
  if (use == nullptr) return nullptr;
  PyTuple_SET_ITEM(use, 0, Py_NewRef(what));
  PyTuple_SET_ITEM(use, 1, Py_NewRef(location));
  PyTuple_SET_ITEM(use, 2, thread.release());
  return use;
}

PyObject* set_borrowing(PyObject*, PyObject* given) {
  Setup setup(given);
  BorrowContext found;
  found.use_class = setup.type("Use");
  found.main_thread = setup.number("main_thread");
  found.main_thread_name = setup.object("main_thread_name");
  found.thread_name = setup.object("thread_name");
  if (!setup.ok()) return nullptr;
  context = found;
  Py_RETURN_NONE;
}

// `(cls, what, location)`: what is done to memory, by this thread.
PyObject* make_use(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("new_use", given, count, 3);
  PyObject* cls = arguments.type();
  PyObject* what = arguments.string();
  PyObject* location = arguments.object();
  if (!arguments.ok()) return nullptr;
  if (reinterpret_cast<PyTypeObject*>(cls) != context.use_class) {
    PyErr_SetString(PyExc_TypeError, "new_use() makes what set_borrowing() was told of");
    return nullptr;
  }
  return use_at(what, location, nullptr);
}

PyMethodDef kFunctions[] = {
    fast_method("new_use", in_turn<make_use>,
                "Note what is done to memory, where, and by which thread."),
    {"set_borrowing", in_turn<set_borrowing>, METH_O, "Say what a use is noted as."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

PyObject* use_at(PyObject* what, PyObject* location, SeenLocation* seen) {
  if (context.use_class == nullptr) {
    PyErr_SetString(PyExc_RuntimeError, "set_borrowing() was not called");
    return nullptr;
  }
  const bool is_main = static_cast<int64_t>(PyThread_get_thread_ident()) == context.main_thread;
  if (!is_main) seen = nullptr;  // notes are those of the main thread
  if (seen != nullptr) {
    if (PyObject* again = seen->borrow.find(what)) return Py_NewRef(again);
  }
  Owned thread(name_of_thread(is_main));
  if (!thread) return nullptr;
  PyObject* use = new_use(what, location, std::move(thread));
  if (use != nullptr) keep_note(seen, &SeenLocation::borrow, location, what, use);
  return use;
}

PyObject* use_here(PyObject* what, PyObject* known) {
  const Caller stands = caller(known);
  return stands ? use_at(what, stands.location.get(), stands.seen) : nullptr;
}

PyObject* first_use(PyObject** used, PyObject* user, PyObject* known) {
  if (used == nullptr) return Py_NewRef(user);
  if (is_used(used)) return Py_NewRef(Py_None);
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

void note_first(PyObject** used, PyObject* use) {
  if (used != nullptr) set_field(*used, use);
}

void forget_first(PyObject** used) {
  if (used != nullptr) set_field(*used, nothing);
}

void note_uses(const TensorUses& uses, PyObject* use) {
  for (int64_t i = 0; i < uses.written(); ++i) {
    if (uses.is_by_pointer(i)) continue;  // it ended no borrow
    set_field(static_cast<StateObject*>(uses.tensor(i).state)->last_write, use);
  }
}

int add_uses(PyObject* module) {
  nothing = PyTuple_New(0);
  return nothing == nullptr ? -1 : PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tw::py
