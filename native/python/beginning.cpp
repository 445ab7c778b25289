// What the beginning of a launch asks: whether its code is fresh, and whether others can run.
#include "python/borrowing.hpp"

namespace tw::py {

namespace {

// What Python sees of a field that may be null.
PyObject* or_none(PyObject* field) { return field == nullptr ? Py_None : field; }

// Whether a value is the object it was. May set an error.
bool is_still(const Watch& watch) {
  PyObject* where = object_of(watch.where);
  if (watch.key == kFunctionCode) return PyFunction_GET_CODE(where) == watch.was;
  if (watch.key == kFunctionDefaults) return or_none(PyFunction_GET_DEFAULTS(where)) == watch.was;
  if (watch.key == kFunctionKeywordDefaults) {
    return or_none(PyFunction_GET_KW_DEFAULTS(where)) == watch.was;
  }
  if (watch.key != nullptr) {
    return PyDict_GetItemWithError(where, object_of(watch.key)) == watch.was;
  }
  const Owned now(out_of_turn(PyObject_CallNoArgs, where));
  return now && now.get() == watch.was;
}

}  // namespace

bool is_fresh(const LaunchPlan& plan) {
  for (int64_t i = 0; i < plan.watched; ++i) {
    if (!is_still(plan.watches[i])) return false;
  }
  return true;
}

int64_t leave_to_python() {
  if (!PyErr_Occurred()) return 0;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return kFailed;  // an interrupt
  PyErr_Clear();  // Python asks again, and says what is wrong
  return 0;
}

bool is_alone() {
  PyThreadState* me = PyThreadState_Get();
  PyInterpreterState* interpreter = PyThreadState_GetInterpreter(me);
  return PyInterpreterState_ThreadHead(interpreter) == me && PyThreadState_Next(me) == nullptr;
}

}  // namespace tw::py
