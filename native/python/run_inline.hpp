// Work of the CPU, run on the calling thread to its end, or put on a stream: what kernels and
// graphs share.
#pragma once

#include "core/timeline.hpp"
#include "cpu/stream.hpp"
#include "python/endings.hpp"

namespace tw::py {

// A stream of the CPU as native code needs it.
struct CpuQueue {
  PyObject* object = nullptr;  // the `CpuStream`, which stays the caller's
  cpu::Stream* stream = nullptr;
  Timeline* timeline = nullptr;
  PyObject* timeline_object = nullptr;  // the object that names the timeline
  PyObject* device = nullptr;
  PyObject* append = nullptr;   // adds what is called and kept until a point of the stream,
  PyObject* items = nullptr;    // to these, in order
  PyObject* waiting = nullptr;  // a set: streams with such, kept alive for them

  // Whether it is one, whole, and not capturing.
  explicit operator bool() const { return stream != nullptr; }
};

// Whether that is a `CpuStream`, if nothing is wrong with it.
CpuQueue cpu_queue_of(PyObject* stream);

// Jobs in a stream's queue at which whoever puts more there waits, so that it does not grow.
inline constexpr int64_t kMostWaiting = 1024;

// Whether all that was put on a stream, of whatever kind, is done; below 0: an error is set.
int is_idle(PyObject* stream);

// Whether so much waits on a stream that putting more takes until some of it is done; the same.
int is_full(PyObject* stream);

// The memory of one run: the job, and scratch for its blocks.
class RunMemory {
 public:
  // Of a record of Python's, which it keeps.
  explicit RunMemory(Owned record) : record_(std::move(record)) {}

  // Finds the job. False: look closer, or an error is set.
  bool find_job();

  // The same, and its scratch for a run on this thread.
  bool prepare(const CpuQueue& queue);

  PyObject* record() const { return record_.get(); }
  cpu::Job& job() const { return *job_; }
  void* scratch() const { return scratch_; }
  // Whether its last run was over at once.
  bool was_brief() const { return was_brief_; }

  // The run is over: gives back scratch of the thread's. False: an error is set.
  bool release(const CpuQueue& queue) const;

 private:
  Owned record_;
  Owned kept_;  // scratch of the thread's; none: the record has its own
  cpu::Job* job_ = nullptr;
  void* scratch_ = nullptr;
  bool was_brief_ = false;
};

// How many threads a run may use on a stream now; below 0: an error is set.
int64_t threads_for(const CpuQueue& queue);

// The same for a job, which is told. 0 or more: for how many nanoseconds it may run before helpers
// are looked for. Below 0: an error is set.
int64_t spread(const CpuQueue& queue, cpu::Job& job);

// Goes on with work that was begun with a number in its timeline until it is over. False: an error
// is set, by the handler of a signal most likely; it was given up.
bool run_to_end(const CpuQueue& queue, const RunMemory& memory, int64_t number, int64_t budget);

// The timelines that are waited for by their addresses, a list. Empty: an error is set.
Owned addresses_of(const Waits& waits);

// Waits until streams have passed all that is on them now. kDone, or kError.
Ending await_on_host(const Waits& waits);

}  // namespace tw::py
