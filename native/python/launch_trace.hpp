// What a trace that is being recorded is told of a launch.
#pragma once

#include "core/timeline.hpp"
#include "python/py.hpp"

namespace tw::py {

// The launch as `launch.tracing.LaunchTrace`; of no launch where nobody traces.
class LaunchTrace {
 public:
  // A launch that is about to be submitted. False: an error is set.
  bool begin(PyObject* op, PyObject* stream, PyObject* code, PyObject* held, int64_t written);

  explicit operator bool() const { return static_cast<bool>(object_); }
  PyObject* object() const { return object_.get(); }

  // What is to be put on the stream before it and behind it: jobs of the CPU, or events of CUDA.
  template <typename Stamp>
  Stamp before() const {
    return reinterpret_cast<Stamp>(before_);
  }
  template <typename Stamp>
  Stamp behind() const {
    return reinterpret_cast<Stamp>(behind_);
  }

  // It ran on this thread, from one time to another. False: an error is set.
  bool ran(int64_t begun, int64_t ended) const;

  // It was put on its stream, which waits for others before it. False: an error is set.
  bool submitted(const Waits& waits) const;

 private:
  Owned object_;
  void* before_ = nullptr;
  void* behind_ = nullptr;
};

}  // namespace tw::py
