// Streams of CUDA: kernels, graphs and events are put there; who waits asks the driver.
//
// Every function makes the context current where it is not, and leaves the thread as it found it.
// None knows of Python: whoever calls one that may take its time lets other threads run meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "core/borrow.hpp"
#include "core/records.hpp"
#include "cuda/driver.hpp"

namespace tw::cuda {

// What is launched, over how much: how the record of a launch begins, which Python makes
// (devices/cuda/record.py). Behind it are the addresses of the parameters, which end with a null,
// and the parameters themselves, one word each.
struct LaunchRecord {
  Context context;
  Function function;
  int64_t grid[3];
  int64_t block[3];
  int64_t shared;     // bytes of memory that a block shares
  void** parameters;  // one address per parameter
};

inline constexpr int64_t kRecordWords = sizeof(LaunchRecord) / 8;

// Which word of a record with so many parameters is the first of them.
constexpr int64_t first_parameter(int64_t count) { return kRecordWords + count + 1; }

static_assert(kRecordWords == 10 && offsetof(LaunchRecord, grid) == 2 * 8 &&
                  offsetof(LaunchRecord, block) == 5 * 8 && offsetof(LaunchRecord, shared) == 8 * 8,
              "as devices/cuda/record.py numbers the words");

// The parameters of one launch: those of a record, some of which differ.
class Parameters {
 public:
  explicit Parameters(int64_t count);
  Parameters(const Parameters&) = delete;
  Parameters& operator=(const Parameters&) = delete;

  // Whether there was memory for them.
  bool ok() const { return words_ != nullptr; }

  // Takes those of the plan's record, and fills in tensors and numbers.
  void fill(const LaunchPlan& plan, const TensorUses& tensors, const int64_t* numbers);

  // Sets the one at a place of the record.
  void set(int64_t place, int64_t word) { words_[place - first_parameter(count_)] = word; }

  // Their addresses as the driver takes them; a null ends these.
  void** addresses() { return reinterpret_cast<void**>(words_ + count_); }

 private:
  // Enough for most kernels; the driver takes 4 kB of parameters at most.
  static constexpr int64_t kInline = 128;

  int64_t count_;
  int64_t inline_[kInline];
  std::unique_ptr<int64_t[]> allocated_;
  int64_t* words_;  // parameters, then their addresses, then a null
};

// Puts a kernel on a stream; a full stream lets whoever does wait.
Status launch(const Driver& driver, const LaunchRecord& record, void** parameters, Stream stream);

// Puts a graph on a stream.
Status launch_graph(const Driver& driver, Context context, GraphExec graph, Stream stream);

// Puts a copy of pinned memory to the device on a stream.
Status copy_in(const Driver& driver, Context context, int64_t target, int64_t source, int64_t bytes,
               Stream stream);

Status record_event(const Driver& driver, Context context, Event event, Stream stream);

// A stream as others wait for it: `Timeline::queue`.
struct Queue {
  Context context;
  Stream stream;
  Event event;  // recorded behind what is there each time another stream waits; null: none yet
};

// Has a stream wait for all that is on another one. What waits already waits for what was there
// then: the event can be recorded again.
Status wait_for(const Driver& driver, Context context, Stream stream, Queue& other);

// Has a stream wait for all that is on one that is not ours.
Status follow(const Driver& driver, Queue& queue, Stream other);

// Lets go of the event.
void close(const Driver& driver, Queue& queue);

// For how long a waiting thread does not sleep, in nanoseconds. Later it sleeps a sixteenth of the
// time it has waited, at most `kLongestNap`.
inline constexpr int64_t kEager = 1'000'000;
inline constexpr int64_t kLongestNap = 500'000;

// Waits until all on a stream is done: kSuccess; or for so many nanoseconds: kNotReady.
Status drain(const Driver& driver, Context context, Stream stream, int64_t budget);

// Waits until an event has passed, in the same way.
Status await_event(const Driver& driver, Context context, Event event, int64_t budget);

// Waits until one of many events has passed, a word is not `seen`, or time is up. Other threads
// write that word.
Status await_any(const Driver& driver, Context context, const Event* events, int64_t count,
                 const int64_t* word, int64_t seen, int64_t budget);

// How work was put on a stream, as work of its timeline.
struct Submission {
  enum class Kind {
    kError,    // an error of Python's is set
    kRefused,  // the driver did not take it, and says why by `status`
    kNone,     // it was not begun: it needs a closer look
    kDone,     // it is there
  };
  Kind kind = Kind::kNone;
  Status status = kSuccess;   // how the waiting for it ended; kSuccess also where nobody waited
  int64_t submitted = 0;      // how much was put there as work of the timeline, with this

  static Submission none() { return {}; }
  static Submission error() { return {.kind = Kind::kError}; }

  // All of it in one number: what was submitted, shifted, and the status; minus the status of what
  // was refused; 0: none. For an error the least number there is.
  static constexpr int kStatusBits = 16;
  int64_t encoded() const;
};

// What was begun as work of a timeline was taken by the driver, or refused.
Submission count_submitted(Timeline& timeline, Status status);

// How far a timeline is before somebody waits for its stream.
struct DrainPoint {
  explicit DrainPoint(const Timeline& timeline)
      : issued(timeline.issued), all_submitted(timeline.unsubmitted == 0) {}

  // All on the stream is done: if all that was begun was there, it is over.
  void drained(Timeline& timeline) const {
    if (all_submitted) pass(timeline, issued);
  }

  int64_t issued;
  bool all_submitted;
};

}  // namespace tw::cuda
