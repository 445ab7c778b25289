// Arrays of the host among what a kernel reads on CUDA: copied to memory of the device on the
// stream of the launch, through pinned memory. They have been read when the launch was submitted.
#pragma once

#include <vector>

#include "cuda/stream.hpp"
#include "python/endings.hpp"

namespace tw::py {

class StagedArrays {
 public:
  // Finds those among what `bind` gave, where launches run on `home`, and memory for each out of
  // two pools: of the device, and of pinned memory. kSlowPath: one is so large that it is copied
  // in pieces.
  Ending prepare(PyObject* pools, PyObject* held, PyObject* home);

  bool empty() const { return arrays_.empty(); }

  // Has a kernel read the copies.
  void set_addresses(const LaunchPlan& plan, cuda::Parameters& parameters) const;

  // Reads the arrays, and puts their copies on a stream. For who may have given up the
  // interpreter's lock.
  cuda::Status put(const cuda::Driver& driver, cuda::Context context, cuda::Stream stream) const;

  // All the memory, to be kept until the stream has passed the launch.
  PyObject* memory() const { return memory_.get(); }

 private:
  struct Array {
    int64_t tensor;   // which tensor of the launch it is
    int64_t address;  // of its first element, in the copy
    int64_t source;   // its bytes, where they are,
    int64_t pinned;   // pass through,
    int64_t target;   // and go to
    int64_t bytes;
  };

  std::vector<Array> arrays_;
  Owned memory_;  // a list
};

// Memory of a pool; its contents are arbitrary. Null: an error is set.
Owned allocate_from(PyObject* pool, int64_t bytes);

// Where that is.
int64_t address_of_memory(PyObject* memory);

}  // namespace tw::py
