// `_core.CudaDriver`: the driver's functions that are called all the time, one call a step.
#include <new>

#include "python/borrowing.hpp"
#include "python/cuda.hpp"
#include "python/module.hpp"
#include "python/types.hpp"

namespace tw::py {

namespace {

using cuda::Status;
using cuda::Submission;

// The table stays for good, as launches name it by its address.
struct CudaDriver {
  PyObject_HEAD
  const cuda::Driver* table;
};

const cuda::Driver& table_of(PyObject* self) { return *reinterpret_cast<CudaDriver*>(self)->table; }

// Fills a table with the addresses that a dict has by the names of functions.
bool fill_table(cuda::Driver& table, PyObject* addresses) {
  for (const cuda::DriverFunction& each : cuda::driver_functions()) {
    const Owned name(PyUnicode_FromString(each.name));
    if (!name) return false;
    const Owned found(PyObject_GetItem(addresses, name.get()));
    if (!found) return false;
    void* address = PyLong_Check(found.get()) ? PyLong_AsVoidPtr(found.get()) : nullptr;
    if (PyErr_Occurred()) return false;
    if (address == nullptr) {
      PyErr_Format(PyExc_TypeError, "CudaDriver(): %U is at an address, got %R", name.get(),
                   found.get());
      return false;
    }
    cuda::set_function(table, each, address);
  }
  return true;
}

PyObject* new_driver(PyTypeObject* type, PyObject* given, PyObject* named) {
  PyObject* addresses;
  const char* names[] = {"addresses", nullptr};
  if (!PyArg_ParseTupleAndKeywords(given, named, "O!:CudaDriver", const_cast<char**>(names),
                                   &PyDict_Type, &addresses)) {
    return nullptr;
  }
  cuda::Driver table;
  if (!fill_table(table, addresses)) return nullptr;
  Owned made(type->tp_alloc(type, 0));
  if (!made) return nullptr;
  auto* kept = new (std::nothrow) cuda::Driver(table);
  if (kept == nullptr) return PyErr_NoMemory();
  reinterpret_cast<CudaDriver*>(made.get())->table = kept;
  return made.release();
}

void free_driver(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* driver_address(PyObject* self, void*) {
  return PyLong_FromVoidPtr(const_cast<cuda::Driver*>(&table_of(self)));
}

// A status that other threads ran Python for; null: an error is set, by the handler of a signal in
// a function of a driver that is written in Python.
PyObject* as_object(Status status) {
  return PyErr_Occurred() ? nullptr : PyLong_FromLong(status);
}

template <typename Call>
PyObject* without_lock(const Call& call) {
  Status status;
  {
    const Unlocked unlocked;
    status = call();
  }
  return as_object(status);
}

// The words of a bytes object that has as many at least; null: an error is set.
int64_t* words_in(const char* function, PyObject* bytes, int64_t count) {
  if (PyBytes_Check(bytes) && PyBytes_GET_SIZE(bytes) >= 8 * count) {
    return reinterpret_cast<int64_t*>(PyBytes_AS_STRING(bytes));
  }
  PyErr_Format(PyExc_TypeError, "%s() takes %lld words as bytes, got %.100R", function,
               static_cast<long long>(count), bytes);
  return nullptr;
}

// Whether an argument can be the list of the uses of an op, or None; false: an error is set.
bool check_uses(const char* function, PyObject* uses) {
  if (uses == Py_None || PyList_Check(uses)) return true;
  PyErr_Format(PyExc_TypeError, "%s() takes a list of uses or None, got %.100s", function,
               Py_TYPE(uses)->tp_name);
  return false;
}

PyObject* open_queue(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("open_queue", given, count, 2);
  const auto context = arguments.address<cuda::OpaqueContext>();
  const auto stream = arguments.address<cuda::OpaqueStream>();
  if (!arguments.ok()) return nullptr;
  auto* queue = new (std::nothrow) cuda::Queue{context, stream, nullptr};
  return queue == nullptr ? PyErr_NoMemory() : PyLong_FromVoidPtr(queue);
}

PyObject* close_queue(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("close_queue", given, count, 1);
  auto* queue = arguments.address<cuda::Queue>();
  if (!arguments.ok()) return nullptr;
  cuda::close(table_of(self), *queue);
  delete queue;
  Py_RETURN_NONE;
}

PyObject* launch(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("launch", given, count, 2);
  const auto* record = arguments.address<cuda::LaunchRecord>();
  const auto stream = arguments.address<cuda::OpaqueStream>();
  if (!arguments.ok()) return nullptr;
  return without_lock(
      [&] { return cuda::launch(table_of(self), *record, record->parameters, stream); });
}

PyObject* submit_launch(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  constexpr const char* kName = "submit_launch";
  Arguments arguments(kName, given, count, 9);
  const auto* plan = arguments.address<LaunchPlan>();
  PyObject* uses = arguments.object();
  PyObject* user = arguments.string();
  PyObject* known = arguments.object();
  PyObject* row = arguments.object();
  PyObject* numbers = arguments.object();
  auto* timeline = arguments.address<Timeline>();
  const auto stream = arguments.address<cuda::OpaqueStream>();
  const int64_t budget = arguments.number();
  if (!arguments.ok() || !check_uses(kName, uses)) return nullptr;
  int64_t* tensors = words_in(kName, row, TensorUses::words_for(plan->tensors));
  if (tensors == nullptr) return nullptr;
  const int64_t* its_numbers = words_in(kName, numbers, plan->numbers);
  if (its_numbers == nullptr) return nullptr;
  const bool is_noted = uses == Py_None;
  PyObject* used = is_noted || PyList_GET_SIZE(uses) == 0
                       ? PyTuple_New(0)
                       : Py_NewRef(PyList_GET_ITEM(uses, 0));
  if (used == nullptr) return nullptr;
  const Submission done =
      py::submit_launch(table_of(self), *plan, is_noted ? nullptr : &used, user, known, tensors,
                        its_numbers, *timeline, stream, budget);
  const Owned now(used);
  const bool is_new = !is_noted && PyList_GET_SIZE(uses) == 0 && PyTuple_GET_SIZE(now.get()) > 0;
  if (is_new && PyList_Append(uses, now.get()) < 0) return nullptr;
  return as_answer(done.encoded());
}

PyObject* record_event(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("record_event", given, count, 3);
  const auto context = arguments.address<cuda::OpaqueContext>();
  const auto event = arguments.address<cuda::OpaqueEvent>();
  const auto stream = arguments.address<cuda::OpaqueStream>();
  if (!arguments.ok()) return nullptr;
  return as_object(cuda::record_event(table_of(self), context, event, stream));
}

PyObject* query_event(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("query_event", given, count, 2);
  const auto context = arguments.address<cuda::OpaqueContext>();
  const auto event = arguments.address<cuda::OpaqueEvent>();
  if (!arguments.ok()) return nullptr;
  return as_object(cuda::await_event(table_of(self), context, event, 0));
}

PyObject* query_stream(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("query_stream", given, count, 2);
  const auto context = arguments.address<cuda::OpaqueContext>();
  const auto stream = arguments.address<cuda::OpaqueStream>();
  if (!arguments.ok()) return nullptr;
  return as_object(cuda::drain(table_of(self), context, stream, 0));
}

PyObject* drain(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("drain", given, count, 3);
  const auto context = arguments.address<cuda::OpaqueContext>();
  const auto stream = arguments.address<cuda::OpaqueStream>();
  const int64_t budget = arguments.number();
  if (!arguments.ok()) return nullptr;
  return without_lock([&] { return cuda::drain(table_of(self), context, stream, budget); });
}

PyObject* await_event(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("await_event", given, count, 3);
  const auto context = arguments.address<cuda::OpaqueContext>();
  const auto event = arguments.address<cuda::OpaqueEvent>();
  const int64_t budget = arguments.number();
  if (!arguments.ok()) return nullptr;
  return without_lock([&] { return cuda::await_event(table_of(self), context, event, budget); });
}

PyObject* await_any(PyObject* self, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("await_any", given, count, 6);
  const auto context = arguments.address<cuda::OpaqueContext>();
  const auto* events = arguments.address<cuda::Event>();
  const int64_t events_count = arguments.number();
  const auto* word = arguments.address<int64_t>();
  const int64_t seen = arguments.number();
  const int64_t budget = arguments.number();
  if (!arguments.ok()) return nullptr;
  return without_lock([&] {
    return cuda::await_any(table_of(self), context, events, events_count, word, seen, budget);
  });
}

PyMethodDef kDriverMethods[] = {
    {"open_queue", as_method(in_turn<open_queue>), METH_FASTCALL,
     "Make a stream one that others can wait for; gives the address of what they need."},
    {"close_queue", as_method(in_turn<close_queue>), METH_FASTCALL,
     "Take that back: nobody will wait any more."},
    {"launch", as_method(in_turn<launch>), METH_FASTCALL,
     "Launch what the words at an address say; the driver's status."},
    {"submit_launch", as_method(in_turn<submit_launch>), METH_FASTCALL,
     "Begin a launch, note who does, submit it, and wait for it if there is a budget."},
    {"record_event", as_method(in_turn<record_event>), METH_FASTCALL,
     "Record an event on a stream; the status."},
    {"query_event", as_method(in_turn<query_event>), METH_FASTCALL,
     "Whether an event has passed, as a status."},
    {"query_stream", as_method(in_turn<query_stream>), METH_FASTCALL,
     "Whether all on a stream is done, as a status."},
    {"drain", as_method(in_turn<drain>), METH_FASTCALL,
     "Wait until all on a stream is done, or so long."},
    {"await_event", as_method(in_turn<await_event>), METH_FASTCALL,
     "Wait until an event has passed, or so long."},
    {"await_any", as_method(in_turn<await_any>), METH_FASTCALL,
     "Wait until one of many events has passed, a word has changed, or so long."},
    {nullptr, nullptr, 0, nullptr},
};

PyGetSetDef kDriverAttributes[] = {
    {"address", in_turn<driver_address>, nullptr, "Where native code finds the table.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot kDriverSlots[] = {
    {Py_tp_doc, const_cast<char*>("CudaDriver(addresses)\n--\n\n"
                                  "The driver's functions that are called all the time, by name.")},
    {Py_tp_new, as_slot(in_turn<new_driver>)},
    {Py_tp_dealloc, as_slot(free_driver)},
    {Py_tp_methods, kDriverMethods},
    {Py_tp_getset, kDriverAttributes},
    {0, nullptr},
};

PyType_Spec kDriverSpec = {
    .name = "tilewright._core.CudaDriver",
    .basicsize = sizeof(CudaDriver),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = kDriverSlots,
};

// The names of the functions that a `CudaDriver` has.
PyObject* function_names() {
  const auto functions = cuda::driver_functions();
  Owned names(PyTuple_New(static_cast<Py_ssize_t>(functions.size())));
  if (!names) return nullptr;
  for (size_t i = 0; i < functions.size(); ++i) {
    PyObject* name = PyUnicode_FromString(functions[i].name);
    if (name == nullptr) return nullptr;
    PyTuple_SET_ITEM(names.get(), static_cast<Py_ssize_t>(i), name);
  }
  return names.release();
}

}  // namespace

int add_cuda_driver(PyObject* module) {
  if (add_type(module, kDriverSpec) == nullptr) return -1;
  const Owned names(function_names());
  if (!names || PyModule_AddObjectRef(module, "CUDA_FUNCTIONS", names.get()) < 0) return -1;
  return PyModule_AddIntConstant(module, "CUDA_STATUS_BITS", Submission::kStatusBits);
}

}  // namespace tw::py
