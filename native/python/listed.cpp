#include "python/listed.hpp"

#include "python/borrowing.hpp"
#include "python/module.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

PyTypeObject* timeline_class = nullptr;  // devices.timeline.Timeline
int64_t pending_offset = 0;              // of a dict: what it lists, by number

PyObject* set_listing(PyObject*, PyObject* given) {
  Setup setup(given);
  int64_t pending = 0;
  PyTypeObject* found = setup.type("Timeline", {{"pending", &pending}});
  if (!setup.ok()) return nullptr;
  timeline_class = found;
  pending_offset = pending;
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_listing", in_turn<set_listing>, METH_O, "Say where timelines list work."},
    {nullptr, nullptr, 0, nullptr},
};

PyObject* pending_of(PyObject* timeline_object) { return slot(timeline_object, pending_offset); }

}  // namespace

bool lists_work(PyObject* timeline_object) {
  if (Py_TYPE(timeline_object) == timeline_class && pending_of(timeline_object) != nullptr &&
      PyDict_CheckExact(pending_of(timeline_object))) {
    return true;
  }
  PyErr_SetString(PyExc_TypeError, "a whole Timeline is expected");
  return false;
}

bool list_work(PyObject* timeline_object, int64_t number, PyObject* work) {
  const Owned key(PyLong_FromLongLong(number));
  return key && PyDict_SetItem(pending_of(timeline_object), key.get(), work) == 0;
}

bool unlist_work(PyObject* timeline_object, Timeline& timeline, int64_t number) {
  const Owned key(PyLong_FromLongLong(number));
  if (!key) return false;
  const BorrowLock lock;
  PyObject* pending = pending_of(timeline_object);
  const Owned work = item_of(pending, key.get());
  if (!work) return !PyErr_Occurred();
  if (PyDict_DelItem(pending, key.get()) < 0) return false;
  Py_ssize_t position = 0;
  PyObject* first = nullptr;
  const bool is_any = PyDict_Next(pending, &position, &first, nullptr) != 0;
  timeline.first_listed = is_any ? PyLong_AsLongLong(first) : 0;
  reap(timeline);
  return true;
}

int add_listed(PyObject* module) { return PyModule_AddFunctions(module, kFunctions); }

}  // namespace tw::py
