// Arrays of other libraries as they describe themselves, and the memory that makes.
#pragma once

#include <array>
#include <cstdint>

#include "python/dlpack.hpp"
#include "python/objects.hpp"

namespace tw::py {

// What Python tells once.
struct ArrayClasses {
  PyTypeObject* array = nullptr;  // numpy.ndarray
  PyTypeObject* ours = nullptr;   // tensors.ownership.Ours
  PyObject* device = nullptr;     // devices.host.CPU
  PyTypeObject* gpu = nullptr;    // devices.cuda.device.CudaDevice
  PyObject* dtypes = nullptr;     // a dict: element types by the kind, bits and lanes of DLPack
  PyObject* layout_of = nullptr;  // the layout of an element type, a shape and strides
  PyObject* immutable = nullptr;  // a frozenset: packages whose arrays are never written
  PyObject* look_closer = nullptr;  // the region of an array that is not described here
  PyObject* wishes = nullptr;       // for `__dlpack__`: the names of keywords,
  PyObject* gpu_wishes = nullptr;   // and where a stream is told of,
  PyObject* version = nullptr;      // and the newest version that is understood
  PyObject* import_stream = nullptr;  // the stream of a GPU that other libraries are told of
};

extern ArrayClasses array_classes;

inline constexpr int kMostAxes = 8;  // more are left to Python

// An element type as DLPack names it.
struct ElementType {
  uint8_t kind;
  uint8_t bits;
  uint16_t lanes;

  int64_t bytes() const { return int64_t{bits} * lanes / 8; }
  int64_t key() const { return int64_t{kind} << 24 | int64_t{bits} << 16 | lanes; }
};

// An array as its library describes it.
struct ArrayDescription {
  ElementType type;
  int rank;
  std::array<int64_t, kMostAxes> shape;
  std::array<int64_t, kMostAxes> strides;  // in elements
  int64_t address;
  bool is_readonly;
};

// Reads what DLPack says; false: it is not described so here.
bool describe(const DLTensor& given, ArrayDescription& array);

// Whether an array has elements, fewer bytes than there are addresses, and lies where its elements
// may lie.
bool makes_sense(const ArrayDescription& array);

// The region of an array on a device that `owner` keeps. None: look closer. Null: an error is set.
Owned region_of(const ArrayDescription& array, PyObject* device, PyObject* owner);

}  // namespace tw::py
