#include "python/array_memory.hpp"

#include <algorithm>
#include <vector>

#include "python/memory.hpp"
#include "python/setup.hpp"

namespace tw::py {

ArrayClasses array_classes;

namespace {

// Layouts that were found lately, each at the place its description hashes to.
class LayoutCache {
 public:
  // A layout; null: an error is set, or there is no such element type.
  Owned find(const ArrayDescription& array) {
    std::array<int64_t, 1 + 2 * kMostAxes> key;
    const auto end = describe(array, key);
    uint64_t hash = 0;
    for (auto word = key.begin(); word != end; ++word) {
      hash = (hash ^ uint64_t(*word)) * 0x9E3779B97F4A7C15;
    }
    Entry& entry = entries_[hash >> 56];
    if (entry.layout && std::equal(key.begin(), end, entry.key.begin(), entry.key.end())) {
      return Owned::borrowed(entry.layout.get());
    }
    Owned made = make(array);
    if (made) {
      const Owned before = std::exchange(entry.layout, Owned::borrowed(made.get()));
      entry.key.assign(key.begin(), end);
    }
    return made;
  }

 private:
  struct Entry {
    std::vector<int64_t> key;
    Owned layout;
  };

  // Writes what tells layouts apart; gives the end of that.
  template <typename Key>
  static typename Key::iterator describe(const ArrayDescription& array, Key& key) {
    key[0] = array.type.key() << 8 | array.rank;
    const auto strides = std::copy_n(array.shape.begin(), array.rank, key.begin() + 1);
    return std::copy_n(array.strides.begin(), array.rank, strides);
  }

  static Owned as_tuple(const std::array<int64_t, kMostAxes>& numbers, int count) {
    Owned tuple(PyTuple_New(count));
    for (int i = 0; tuple && i < count; ++i) {
      PyObject* number = PyLong_FromLongLong(numbers[i]);
      if (number == nullptr) return Owned();
      PyTuple_SET_ITEM(tuple.get(), i, number);
    }
    return tuple;
  }

  static Owned make(const ArrayDescription& array) {
    const Owned code(PyLong_FromLongLong(array.type.key()));
    PyObject* dtype = code ? PyDict_GetItemWithError(array_classes.dtypes, code.get()) : nullptr;
    if (dtype == nullptr) return Owned();
    const Owned shape = as_tuple(array.shape, array.rank);
    const Owned strides = as_tuple(array.strides, array.rank);
    if (!shape || !strides) return Owned();
    Owned made = call_python(array_classes.layout_of, {dtype, shape.get(), strides.get()});
    if (made && !PyObject_TypeCheck(made.get(), layout_type)) {
      PyErr_SetString(PyExc_TypeError, "a Layout is expected");
      return Owned();
    }
    return made;
  }

  std::array<Entry, 256> entries_;
};

LayoutCache& layouts() {
  static auto* cache = new LayoutCache();  // not destroyed: Python is gone then
  return *cache;
}

// Row-major strides of the shape; false: they are more than there are addresses.
bool set_row_major(ArrayDescription& array) {
  int64_t step = 1;
  for (int i = array.rank; i-- > 0;) {
    array.strides[i] = step;
    if (__builtin_mul_overflow(step, array.shape[i], &step)) return false;
  }
  return true;
}

}  // namespace

bool describe(const DLTensor& given, ArrayDescription& array) {
  if (given.data == nullptr || given.rank < 0 || given.rank > kMostAxes) return false;
  if (given.rank > 0 && given.shape == nullptr) return false;
  const auto data = reinterpret_cast<uint64_t>(given.data);
  uint64_t address;
  if (__builtin_add_overflow(data, given.byte_offset, &address) || address > INT64_MAX) {
    return false;
  }
  array.type = {given.code, given.bits, given.lanes};
  array.rank = given.rank;
  array.address = static_cast<int64_t>(address);
  std::copy_n(given.shape, given.rank, array.shape.begin());
  if (given.strides == nullptr) return set_row_major(array);
  std::copy_n(given.strides, given.rank, array.strides.begin());
  return true;
}

bool makes_sense(const ArrayDescription& array) {
  int64_t bytes = array.type.bytes();
  if (bytes <= 0 || array.address <= 0 || array.address % bytes != 0) return false;
  for (int i = 0; i < array.rank; ++i) {
    if (array.shape[i] <= 0 || __builtin_mul_overflow(bytes, array.shape[i], &bytes)) return false;
  }
  return true;
}

Owned region_of(const ArrayDescription& array, PyObject* device, PyObject* owner) {
  const Owned layout = makes_sense(array) ? layouts().find(array) : Owned();
  if (!layout) return PyErr_Occurred() ? Owned() : Owned::borrowed(Py_None);
  const LayoutObject& its = as<LayoutObject>(layout.get());
  int64_t start, end;
  if (__builtin_add_overflow(array.address, its.low, &start) || start < 0 ||
      __builtin_add_overflow(array.address, its.high, &end)) {
    return Owned::borrowed(Py_None);
  }
  const Owned storage = find_import(device, owner, start, end, array.is_readonly);
  return storage ? new_region(storage.get(), layout.get(), array.address) : Owned();
}

}  // namespace tw::py
