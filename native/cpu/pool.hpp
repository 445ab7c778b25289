// The worker threads of a process, and what all streams share.
//
// A worker runs the first job of a ready stream, else helps with the job of another thread, else
// looks out for work for a moment and then sleeps. None of it needs the interpreter.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "cpu/fork.hpp"
#include "cpu/job.hpp"
#include "cpu/stream.hpp"

namespace tw::cpu {

class Arena;

class Pool {
 public:
  // `alone`: nanoseconds of work after which helpers are called.
  explicit Pool(std::int64_t alone) : alone_(alone) {}
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // A worker's life, until `stop`.
  void serve();

  // Runs nothing any more, and sends workers home. Jobs added later run on the threads that add
  // them. Streams that a thread runs just now are passed when that is over.
  void stop();

  // Whether this is a copy in a child process: there are no workers, and the mutex may be held for
  // good. Calls say so.
  bool is_lost() const { return fork_count() != forks_before_; }

  bool is_stopped() const { return stopped_.load(std::memory_order_relaxed); }

  // How many workers were started, as far as those who start them have said.
  std::int64_t workers() const { return workers_.load(std::memory_order_relaxed); }
  void set_workers(std::int64_t count) { workers_.store(count, std::memory_order_relaxed); }

  // How many threads a launch may use where no `with` block has other settings in force.
  std::int64_t usual_threads() const { return usual_.load(std::memory_order_relaxed); }
  void set_usual_threads(std::int64_t count) { usual_.store(count, std::memory_order_relaxed); }

  // How many jobs were left unfinished by the threads that run them.
  std::int64_t unfinished() const { return unfinished_.load(std::memory_order_relaxed); }

  // Counts an alert: 0, or kForked.
  std::int64_t alert();

  // Sleeps until the count of alerts is not `seen`, or for `budget` nanoseconds: the count, or
  // kForked.
  std::int64_t wait_for_alert(std::int64_t seen, std::int64_t budget);

 private:
  friend class Stream;
  using Lock = std::unique_lock<std::mutex>;  // as a parameter: the mutex is held

  struct Waiter {  // a thread that waits for a point of a stream; on its own stack
    Waiter* next;
    const Stream* stream;
    std::int64_t number;
  };

  // Order of the streams: stream.cpp. All of it with the mutex held.
  std::int64_t append(Stream& stream, Job& job);
  void pass_head(Stream& stream);
  void advance(Stream& stream);
  void advance_all(Stream* first);
  void advance_blocked();
  void finish_head(Stream& stream);
  void notify(Stream& stream);
  void count_alert();
  std::int64_t wake(std::int64_t wanted);
  void wake_for_ready();

  // Running jobs: pool.cpp. With the mutex free, where no lock is given.
  RunStatus run_entry(Job& entry, void* scratch, std::int64_t budget);
  RunStatus run_job(Job& job, void* scratch, std::int64_t budget);
  void share(Job& job);
  void unlist(Job& job, const Lock&);
  RunStatus await_helpers(Job& job);
  void note_unfinished(Job& job, bool is_unfinished);

  // Lives of workers: pool.cpp.
  Stream* take_ready(const Lock&);
  Job* join(const Lock&);
  void run_head(Stream& stream, Arena& arena);
  void help(Job& job, Arena& arena);
  void look_out(std::int64_t seen, std::int64_t busy_since) const;
  void sleep(std::int64_t seen, Lock& lock);

  // Counts what was put up for the workers; idle ones watch it, so nothing else is near.
  alignas(64) std::atomic<std::int64_t> generation_{0};

  alignas(64) const std::int64_t alone_;
  const std::int64_t forks_before_ = fork_count();
  std::atomic<std::int64_t> workers_{0};
  std::atomic<std::int64_t> usual_{1};
  std::atomic<std::int64_t> unfinished_{0};
  std::atomic<std::int64_t> stopped_{0};  // written with the mutex held

  // The rest is guarded by the mutex. Streams that are not empty are in one of three places: in the
  // list of those that are ready, in that of those whose head waits, or with a thread that runs
  // their head.
  alignas(64) std::mutex mutex_;
  Stream* ready_ = nullptr;
  Stream* ready_end_ = nullptr;
  std::int64_t ready_count_ = 0;
  Stream* blocked_ = nullptr;
  bool changed_ = false;  // whether any stream has moved since the blocked ones were looked at
  Job* shared_ = nullptr;      // the first job that helpers may join
  std::int64_t looking_ = 0;   // workers that look out for work
  std::int64_t sleeping_ = 0;  // workers that must be woken
  Waiter* waiters_ = nullptr;
  std::int64_t alerts_ = 0;
  std::int64_t listeners_ = 0;
  std::condition_variable work_;     // workers sleep on it
  std::condition_variable helped_;   // owners of jobs, until their helpers have left
  std::condition_variable passed_;   // those who wait for a point of a stream
  std::condition_variable alerted_;  // listeners
};

}  // namespace tw::cpu
