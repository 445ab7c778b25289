#include "python/scalars.hpp"

#include <bit>
#include <cmath>

namespace tw::py {

namespace {

PyObject* accept_int(const NumberRange& range, PyObject* given) {
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(given, &overflow);
  const bool fits = overflow == 0 && range.low.integer <= value && value <= range.high.integer;
  return fits ? Py_NewRef(given) : nullptr;
}

PyObject* accept_unsigned(const NumberRange& range, PyObject* given) {
  const uint64_t value = PyLong_AsUnsignedLongLong(given);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return nullptr;
  }
  return range.low.natural <= value && value <= range.high.natural ? Py_NewRef(given) : nullptr;
}

PyObject* accept_float(const NumberRange& range, PyObject* given) {
  const bool is_float = PyFloat_CheckExact(given);
  if (!is_float && !PyLong_CheckExact(given)) return nullptr;
  const double value = is_float ? PyFloat_AS_DOUBLE(given) : PyLong_AsDouble(given);
  if (!is_float && PyErr_Occurred()) {
    PyErr_Clear();
    return nullptr;
  }
  if (!(range.low.real <= value && value <= range.high.real)) return nullptr;
  if (is_float) return Py_NewRef(given);
  PyObject* made = PyFloat_FromDouble(value);
  if (made == nullptr) PyErr_Clear();
  return made;
}

bool pack_half(double value, int64_t& word) {
  char bytes[2];
  if (PyFloat_Pack2(value, bytes, 1) < 0) {
    PyErr_Clear();
    return false;
  }
  word = static_cast<unsigned char>(bytes[0]) | static_cast<unsigned char>(bytes[1]) << 8;
  return true;
}

bool pack_float(NumberPacking::Format format, double value, int64_t& word) {
  if (std::isnan(value)) return false;  // there are many, which conversions may not tell apart
  switch (format) {
    case NumberPacking::kHalf:
      return pack_half(value, word);
    case NumberPacking::kSingle: {
      const float rounded = static_cast<float>(value);
      if (std::isinf(rounded) && !std::isinf(value)) return false;
      word = std::bit_cast<uint32_t>(rounded);
      return true;
    }
    case NumberPacking::kDouble:
      word = std::bit_cast<int64_t>(value);
      return true;
    default:
      return false;
  }
}

bool pack_one(NumberPacking::Format format, PyObject* number, int64_t& word) {
  if (format == NumberPacking::kWord) {
    if (!PyLong_Check(number)) return false;
    word = static_cast<int64_t>(PyLong_AsUnsignedLongLongMask(number));
    return true;
  }
  return PyFloat_Check(number) && pack_float(format, PyFloat_AS_DOUBLE(number), word);
}

}  // namespace

PyObject* accept(const NumberRange& range, PyObject* given) {
  switch (range.kind) {
    case NumberRange::kBool:
      return PyBool_Check(given) ? Py_NewRef(given) : nullptr;
    case NumberRange::kInt:
      return PyLong_CheckExact(given) ? accept_int(range, given) : nullptr;
    case NumberRange::kUnsigned:
      return PyLong_CheckExact(given) ? accept_unsigned(range, given) : nullptr;
    case NumberRange::kFloat:
      return accept_float(range, given);
    default:
      return nullptr;
  }
}

bool pack(PyObject* packing, PyObject* numbers, int64_t count, int64_t* words) {
  if (count > kMostPacked || !PyTuple_CheckExact(numbers) || !PyBytes_Check(packing) ||
      PyBytes_GET_SIZE(packing) != count * static_cast<int64_t>(sizeof(NumberPacking))) {
    return false;
  }
  const auto* each = reinterpret_cast<const NumberPacking*>(PyBytes_AS_STRING(packing));
  for (int64_t i = 0; i < count; ++i) {
    if (each[i].which < 0 || each[i].which >= PyTuple_GET_SIZE(numbers)) return false;
    if (!pack_one(each[i].format, PyTuple_GET_ITEM(numbers, each[i].which), words[i])) return false;
  }
  return true;
}

}  // namespace tw::py
