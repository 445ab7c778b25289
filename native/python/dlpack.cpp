// What other libraries call when they are done with exported memory (DLPack).
//
// A deleter may be called from any thread, with or without the interpreter's lock, and after the
// interpreter is gone. So it does one thing: it sets the word that the managed tensor's context
// points to. Whoever looks at exports next finds it (tensors/releases.py).
#include <atomic>
#include <cstdint>

#include "python/module.hpp"

namespace tw::py {

namespace {

using Released = std::atomic<std::uint64_t>;

// How a managed tensor begins, up to its context, in the two forms of the protocol.
struct Plain {
  static constexpr const char* kCapsule = "dltensor";
  static constexpr const char* kTaken = "used_dltensor";
  std::uint64_t tensor[6];
  Released* context;
};

struct Versioned {
  static constexpr const char* kCapsule = "dltensor_versioned";
  static constexpr const char* kTaken = "used_dltensor_versioned";
  std::uint32_t major;
  std::uint32_t minor;
  Released* context;
};

template <typename Form>
void delete_tensor(Form* managed) {
  managed->context->store(1, std::memory_order_release);
}

// Of a capsule: deletes the managed tensor, if nobody has taken it over.
template <typename Form>
void destroy_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, Form::kCapsule)) {
    delete_tensor(static_cast<Form*>(PyCapsule_GetPointer(capsule, Form::kCapsule)));
  }
}

template <typename Function>
int add_function(PyObject* module, const char* name, Function* function) {
  const Owned address(PyLong_FromVoidPtr(reinterpret_cast<void*>(function)));
  return address ? PyModule_AddObjectRef(module, name, address.get()) : -1;
}

// Capsules keep a pointer to their name, and may outlive all memory of Python: it stays for good.
int add_name(PyObject* module, const char* name, const char* text) {
  const Owned address(PyLong_FromVoidPtr(const_cast<char*>(text)));
  return address ? PyModule_AddObjectRef(module, name, address.get()) : -1;
}

}  // namespace

int add_dlpack(PyObject* module) {
  if (add_name(module, "DLPACK_NAME", Plain::kCapsule) < 0) return -1;
  if (add_name(module, "DLPACK_TAKEN_NAME", Plain::kTaken) < 0) return -1;
  if (add_name(module, "DLPACK_VERSIONED_NAME", Versioned::kCapsule) < 0) return -1;
  if (add_name(module, "DLPACK_VERSIONED_TAKEN_NAME", Versioned::kTaken) < 0) return -1;
  if (add_function(module, "DLPACK_DELETER", delete_tensor<Plain>) < 0) return -1;
  if (add_function(module, "DLPACK_DESTRUCTOR", destroy_capsule<Plain>) < 0) return -1;
  if (add_function(module, "DLPACK_VERSIONED_DELETER", delete_tensor<Versioned>) < 0) return -1;
  return add_function(module, "DLPACK_VERSIONED_DESTRUCTOR", destroy_capsule<Versioned>);
}

}  // namespace tw::py
