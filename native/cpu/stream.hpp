// A stream of the CPU: jobs in order. The first runs as soon as its waits are over, on a worker of
// the pool or on the thread that waits for it.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>

#include "cpu/job.hpp"

namespace tw::cpu {

class Pool;

inline constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max();

// What becomes of a job that is run on the calling thread.
enum class RunStatus : std::int64_t {
  kForked = -1,     // this is a child process, where the stream is of no use
  kDone = 0,        // it is over
  kUnfinished = 1,  // time is up: call `resume` again
  kBusy = 2,        // it was not begun, for the stream has other work
};

// Answer of calls that give a number, in a child process.
inline constexpr std::int64_t kForked = -1;

class Stream {
 public:
  // The right to add a job to an idle stream. Until it ends no thread adds anything to any stream
  // of the pool, and nothing that runs there completes, so keep it short; it holds the pool's
  // mutex. Take it after the borrow lock, never before, and let no object of Python be freed while
  // it is held: that may be a stream.
  class Reservation {
   public:
    explicit operator bool() const { return lock_.owns_lock(); }  // false: busy, or forked

    // Adds a job, for this thread to run it by `resume`, and ends the reservation.
    void occupy(Job& job);

   private:
    friend class Stream;
    Reservation() = default;
    explicit Reservation(Stream& stream, std::unique_lock<std::mutex> lock)
        : stream_(&stream), lock_(std::move(lock)) {}
    Stream* stream_ = nullptr;
    std::unique_lock<std::mutex> lock_;
  };

  explicit Stream(Pool& pool) : pool_(&pool) {}
  // All that was added must have passed.
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  Pool& pool() const { return *pool_; }

  // How many of its jobs have passed, and how many were added.
  std::int64_t completed() const { return completed_.load(std::memory_order_acquire); }
  std::int64_t submitted() const { return submitted_.load(std::memory_order_relaxed); }
  const std::atomic<std::int64_t>& completed_count() const { return completed_; }
  bool is_first(const Job& job) const { return head_.load(std::memory_order_relaxed) == &job; }

  // Adds a job; its number in the stream, or kForked.
  std::int64_t enqueue(Job& job);

  // Adds a wait until a count has reached a number. As `enqueue`; 0: there is not enough memory.
  std::int64_t enqueue_wait(const std::atomic<std::int64_t>& count, std::int64_t number);

  // Adds a job and runs it on this thread for about `budget` nanoseconds, if the stream is idle.
  RunStatus run_inline(Job& job, void* scratch, std::int64_t budget);

  // Goes on with a job that this thread added by `run_inline` or `Reservation::occupy`, unless it
  // is over: a signal handler may have finished it meanwhile.
  RunStatus resume(Job& job, void* scratch, std::int64_t budget);

  // See `Reservation`.
  Reservation reserve_idle();

  // The job of this thread that `resume` has left unfinished here; null: none.
  Job* unfinished_of_caller();

  // Cancels all that is here.
  void cancel_all();

  // Sleeps until so many jobs have passed: 1, or 0: `budget` nanoseconds are over, or kForked.
  std::int64_t wait(std::int64_t number, std::int64_t budget);

  // Has the pool count an alert once so many jobs have passed: 0, or kForked.
  std::int64_t alert_at(std::int64_t number);

 private:
  friend class Pool;

  std::atomic<std::int64_t> completed_{0};
  std::atomic<std::int64_t> submitted_{0};
  // The rest is guarded by the pool's mutex; the head is also read without it.
  std::atomic<Job*> head_{nullptr};
  Job* tail_ = nullptr;
  Stream* link_ = nullptr;         // the next one in the list of those that are ready, or wait
  std::int64_t alarm_ = kForever;  // count an alert when `completed` reaches this
  Pool* pool_;
};

}  // namespace tw::cpu
