// The functions of `_core` that borrow memory and order work. Records are told by their addresses.
#include "python/borrowing.hpp"
#include "python/memory.hpp"
#include "python/module.hpp"

namespace tw::py {

namespace {

// Whether bytes are a row of so many tensors; else an error is set.
bool is_row(PyObject* bytes, int64_t written, int64_t count) {
  if (written < 0 || written > count || count > INT32_MAX) {
    PyErr_Format(PyExc_TypeError, "no row has %lld tensors, of which %lld are written",
                 static_cast<long long>(count), static_cast<long long>(written));
    return false;
  }
  return holds_words(bytes, TensorUses::words_for(count));
}

// Whether that can be the regions of so many arguments; else an error is set.
bool are_regions(PyObject* regions, int64_t count) {
  bool fits = PyTuple_CheckExact(regions) && PyTuple_GET_SIZE(regions) == count;
  for (int64_t i = 0; fits && i < count; ++i) {
    PyObject* each = PyTuple_GET_ITEM(regions, i);
    const bool is_region = PyObject_TypeCheck(each, region_type) && RegionFields::are_set(each);
    fits = each == Py_None || is_region;
  }
  if (!fits) PyErr_SetString(PyExc_TypeError, "a tuple of a Region or None for each is expected");
  return fits;
}

PyObject* bind_tensors(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("bind_tensors", given, count, 4);
  const auto* plan = arguments.address<const BindPlan>();
  PyObject* values = arguments.tuple();
  PyObject* known = arguments.object();
  PyObject* regions = arguments.object();
  if (!arguments.ok()) return nullptr;
  if (regions == Py_None) return bind(*plan, values, known);
  if (!are_regions(regions, plan->arity)) return nullptr;
  return bind(*plan, values, known, regions);
}

PyObject* reserve(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("reserve", given, count, 5);
  PyObject* row = arguments.bytes_object();
  const int64_t written = arguments.number();
  const int64_t tensors = arguments.number();
  auto* timeline = arguments.address<Timeline>();
  const int64_t how = arguments.number();
  if (!arguments.ok() || !is_row(row, written, tensors)) return nullptr;
  return PyLong_FromLongLong(reserve(TensorUses(words_in(row), written, tensors), *timeline, how));
}

PyObject* reborrow(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("reborrow", given, count, 4);
  auto* row = arguments.address<int64_t>();
  const int64_t written = arguments.number();
  const int64_t tensors = arguments.number();
  auto* timeline = arguments.address<Timeline>();
  if (!arguments.ok()) return nullptr;
  return PyLong_FromLongLong(reborrow(TensorUses(row, written, tensors), *timeline));
}

PyObject* write_addresses(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("write_addresses", given, count, 4);
  PyObject* row = arguments.bytes_object();
  const int64_t tensors = arguments.number();
  auto* slots = arguments.address<int64_t>();
  const auto* places = arguments.address<const int64_t>();
  if (!arguments.ok() || !holds_words(row, tensors)) return nullptr;
  write_addresses(TensorUses(words_in(row), 0, tensors), places, slots);
  Py_RETURN_NONE;
}

PyObject* note_submitted(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("note_submitted", given, count, 1);
  auto* timeline = arguments.address<Timeline>();
  if (!arguments.ok()) return nullptr;
  submitted(*timeline);
  Py_RETURN_NONE;
}

PyObject* note_passed(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("note_passed", given, count, 2);
  auto* timeline = arguments.address<Timeline>();
  const int64_t number = arguments.number();
  if (!arguments.ok()) return nullptr;
  pass(*timeline, number);
  Py_RETURN_NONE;
}

PyObject* reap(PyObject*, PyObject* const* given, Py_ssize_t count) {
  Arguments arguments("reap", given, count, 1);
  auto* timeline = arguments.address<Timeline>();
  return arguments.ok() ? PyLong_FromLongLong(reap(*timeline)) : nullptr;
}

PyMethodDef kMethods[] = {
    fast_method("bind_tensors", in_turn<bind_tensors>,
                "Borrow the tensors that a kernel was given."),
    fast_method("reserve", in_turn<reserve>, "Begin work whose borrows still stand."),
    fast_method("reborrow", in_turn<reborrow>,
                "Borrow the memory of a replay again, and begin its work."),
    fast_method("write_addresses", in_turn<write_addresses>,
                "Write addresses of tensors to their places."),
    fast_method("note_submitted", in_turn<note_submitted>,
                "Count work that was submitted, or dropped."),
    fast_method("note_passed", in_turn<note_passed>, "Count all work up to a number as over."),
    fast_method("reap", in_turn<reap>, "Find up to which number all work is over."),
    {nullptr, nullptr, 0, nullptr},
};

constexpr Constant kConstants[] = {
    {"SLOW_PATH", kSlowPath},
    {"PENDING_WORK", kPendingWork},
    {"LISTED", kListed},
    {"EXAMINED", kExamined},
    {"BY_POINTER", kByPointer},
    {"FOLLOWING", kFollowing},
    {"BEHIND_REGIONS", kBehindRegions},
};

}  // namespace

bool holds_words(PyObject* bytes, int64_t words) {
  if (PyBytes_GET_SIZE(bytes) / Py_ssize_t(sizeof(int64_t)) >= words) return true;
  PyErr_Format(PyExc_TypeError, "bytes of %lld words are expected, got %zd bytes",
               static_cast<long long>(words), PyBytes_GET_SIZE(bytes));
  return false;
}

int add_borrowing(PyObject* module) {
  if (add_constants(module, kConstants) < 0) return -1;
  return PyModule_AddFunctions(module, kMethods);
}

}  // namespace tw::py
