#include "python/launch_trace.hpp"

#include "python/module.hpp"
#include "python/process.hpp"
#include "python/run_inline.hpp"
#include "python/setup.hpp"

namespace tw::py {

namespace {

PyObject* trace_launch = nullptr;  // makes one, if somebody still traces
PyObject* names_stamps = nullptr;
PyObject* names_ran = nullptr;
PyObject* names_submitted = nullptr;

PyObject* set_launch_trace(PyObject*, PyObject* function) {
  Py_XSETREF(trace_launch, Py_NewRef(function));
  Py_RETURN_NONE;
}

PyMethodDef kFunctions[] = {
    {"set_launch_trace", in_turn<set_launch_trace>, METH_O,
     "Say what traces are told of launches."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool LaunchTrace::begin(PyObject* op, PyObject* stream, PyObject* code, PyObject* held,
                        int64_t written) {
  if (is_untraced()) return true;
  const Owned count(PyLong_FromLongLong(written));
  Owned made = count ? call_python(trace_launch, {op, stream, code, held, count.get()}) : Owned();
  if (!made || made.get() == Py_None) return static_cast<bool>(made);
  const Owned stamps(PyObject_GetAttr(made.get(), names_stamps));
  if (!stamps) return false;
  if (!PyTuple_CheckExact(stamps.get()) || PyTuple_GET_SIZE(stamps.get()) != 2) {
    PyErr_SetString(PyExc_TypeError, "two stamps are expected");
    return false;
  }
  before_ = PyLong_AsVoidPtr(PyTuple_GET_ITEM(stamps.get(), 0));
  behind_ = PyLong_AsVoidPtr(PyTuple_GET_ITEM(stamps.get(), 1));
  if (PyErr_Occurred()) return false;
  object_ = std::move(made);
  return true;
}

bool LaunchTrace::ran(int64_t begun, int64_t ended) const {
  const Owned times(Py_BuildValue("(LL)", static_cast<long long>(begun),
                                  static_cast<long long>(ended)));
  const Owned method(times ? PyObject_GetAttr(object(), names_ran) : nullptr);
  return method && Owned(out_of_turn(PyObject_CallObject, method.get(), times.get()));
}

bool LaunchTrace::submitted(const Waits& waits) const {
  const Owned waited = addresses_of(waits);
  return waited &&
         Owned(out_of_turn(PyObject_CallMethodOneArg, object(), names_submitted, waited.get()));
}

int add_launch_trace(PyObject* module) {
  names_stamps = PyUnicode_InternFromString("stamps");
  names_ran = PyUnicode_InternFromString("ran");
  names_submitted = PyUnicode_InternFromString("submitted");
  if (PyErr_Occurred()) return -1;
  return PyModule_AddFunctions(module, kFunctions);
}

}  // namespace tw::py
