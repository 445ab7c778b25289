// What arrays of other libraries export by DLPack: by functions of C that the library offers
// (DLPack's exchange API), or else by `__dlpack__`.
#pragma once

#include "python/dlpack.hpp"
#include "python/py.hpp"

namespace tw::py {

// DLPack's types of devices.
inline constexpr int32_t kHost = 1;
inline constexpr int32_t kGpu = 2;
inline constexpr int32_t kPinnedHost = 3;   // memory of the host that a GPU reads
inline constexpr int32_t kManagedGpu = 13;  // memory that host and GPU share

// The functions of C by which a library exports its arrays, as DLPack 1.3 lays them out. A library
// that has them keeps them for good.
struct ExchangeApi {
  static constexpr const char* kCapsule = "dlpack_exchange_api";
  uint32_t major;
  uint32_t minor;
  const ExchangeApi* previous;  // of an older version; null: none
  void* allocate;
  int (*export_array)(PyObject* array, VersionedTensor** managed);  // not in the order of a stream
  void* import_array;
  void* describe;
  int (*current_stream)(int32_t device_type, int32_t device_id, void** stream);
};

// Those that the type of an array has itself: types that extend it may mean something else. Null
// without an error: it has none that are known.
const ExchangeApi* exchange_api_of(PyObject* array);

// What was exported. Another library's deleter is called once it is dropped.
struct Exported {
  Owned keeper;  // what keeps it
  const DLTensor* tensor = nullptr;            // null: nothing was, or it is not understood
  const VersionedTensor* versioned = nullptr;  // null: it has the first form of the protocol
  bool is_capsule = false;  // nobody has taken over what is in it

  // What keeps it, taken over for good. Null: an error is set.
  Owned owner() {
    return is_capsule ? take_capsule(keeper.get()) : Owned::borrowed(keeper.get());
  }
};

// By functions of C, whatever is under way on streams. Nothing without an error: look closer.
Exported export_by(const ExchangeApi& api, PyObject* array);

// By `__dlpack__`, for a stream of a GPU; of the host where that is null. Nothing without an error:
// it cannot be, which Python asks again.
Exported export_by_method(PyObject* array, PyObject* stream);

// Whether an array wants gradients, and so exports its memory detached alone.
bool needs_gradient(PyObject* array);

// Whether an array stands for its elements times -1: torch says so, but exports it all the same.
// Below 0: an error is set.
int is_negated(PyObject* array);

// Whether a library asks that its memory be not written, or never writes its arrays itself. Below
// 0: an error is set.
int is_read_only(PyObject* array, const VersionedTensor* managed);

// Clears the error of a call that Python makes again; an interrupt stays. False: it is one.
bool clear_unless_interrupted();

// Makes the names of methods. False: an error is set.
bool prepare_exports();

}  // namespace tw::py
