// Managed tensors of DLPack, in the two forms of the protocol; those of others that we hold.
#pragma once

#include <cstdint>

#include "python/py.hpp"

namespace tw::py {

struct DLTensor {
  void* data;
  int32_t device_type;
  int32_t device_id;
  int32_t rank;
  uint8_t code;
  uint8_t bits;
  uint16_t lanes;
  const int64_t* shape;
  const int64_t* strides;  // in elements; null: row-major
  uint64_t byte_offset;
};

struct ManagedTensor {
  static constexpr const char* kCapsule = "dltensor";
  static constexpr const char* kTaken = "used_dltensor";
  DLTensor tensor;
  void* context;
  void (*deleter)(ManagedTensor*);
};

struct VersionedTensor {
  static constexpr const char* kCapsule = "dltensor_versioned";
  static constexpr const char* kTaken = "used_dltensor_versioned";
  static constexpr uint64_t kReadOnly = 1;
  uint32_t major;
  uint32_t minor;
  void* context;
  void (*deleter)(VersionedTensor*);
  uint64_t flags;
  DLTensor tensor;
};

// Takes over what is in a capsule: an object that keeps it. `sweep_imports` calls its deleter once
// that is gone. Null: an error is set.
Owned take_capsule(PyObject* capsule);

// Keeps a managed tensor that a library has given us. Null: an error is set, its deleter due.
Owned keep_managed(VersionedTensor* managed);

// Calls the deleters of what nobody needs any longer, without the interpreter's lock.
void sweep_imports();

}  // namespace tw::py
