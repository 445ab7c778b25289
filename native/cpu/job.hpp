// A unit of work of the CPU: blocks of a kernel, a list of such jobs, or a wait.
//
// A job and its launch record are memory that Python allocates (devices/cpu/record.py): both begin
// as zeros, consist of 64-bit words, and are read by compiled kernels. Python gets the positions of
// the words from `_core`.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tw::cpu {

inline constexpr std::size_t kWord = sizeof(std::int64_t);

// What a kernel is told of its launch, and what it reports. base/cpu_abi.py is the definition that
// the code generator reads.
struct LaunchRecord {
  std::int64_t grid[8];
  std::atomic<std::int64_t> cancel;       // not 0: start no further block
  std::atomic<std::int64_t> error_taken;  // 0 until the first failure, which fills in the rest
  std::int64_t error_site;
  std::int64_t error_block;
  std::int64_t error_index;
  std::int64_t error_extent;
  std::int64_t print_buffer;
  std::int64_t print_capacity;
  std::atomic<std::int64_t> print_used;
  std::int64_t stream;  // not 0: write outputs past the caches
  // Called by loops of the kernel every few iterations; see poll.hpp.
  std::atomic<std::int64_t (*)(LaunchRecord*)> poll;
  std::atomic<std::int64_t> begun;  // when a thread last began with some of the blocks
  std::atomic<std::int64_t> polled;
  std::atomic<std::int64_t> poll_interval;  // iterations between two polls
};

// Runs the blocks begin .. end - 1.
using Kernel = void (*)(void* arguments, LaunchRecord* launch, std::int64_t begin, std::int64_t end,
                        void* scratch);

struct Job {
  Kernel kernel;
  void* arguments;
  LaunchRecord* launch;
  std::int64_t blocks;
  std::int64_t threads;        // how many may work on it at once
  std::int64_t scratch_bytes;  // each of them needs
  Job** nodes;                 // the jobs that this one is a list of; null: it is no list
  std::int64_t node_count;
  std::atomic<std::int64_t> at;         // the node being run
  std::int64_t begun;                   // whether that node has been begun
  std::atomic<std::int64_t> cancelled;  // not 0: it was not run, or not to its end
  std::int64_t starved;                 // not 0: there was not enough memory for its scratch
  std::int64_t failed;                  // the node whose failure the launch record shows
  Job* next;                            // behind it in its stream
  // Of a wait: the count that must reach `number` before the job is passed; null: it is no wait.
  const std::atomic<std::int64_t>* awaited;
  std::int64_t number;
  // The next block; all threads write it, so nothing else is near.
  std::atomic<std::int64_t> counter;
  std::int64_t padding_[7];
  std::atomic<std::int64_t> helpers;  // how many are in it
  std::int64_t room;                  // for how many more
  std::int64_t shared;                // whether helpers were called
  std::int64_t listed;                // whether helpers find it
  Job* next_shared;
  std::int64_t processor;  // of the owner, when it called helpers
  std::int64_t since;      // when that was
  std::int64_t was_long;   // helpers had work to do last time: they are called at once
  std::int64_t together;   // how many consecutive blocks one thread had better run: they share work
  std::atomic<std::int64_t> lasted;  // nanoseconds spent in it
  // The thread that left it in `Stream::resume` as time was up; 0: none.
  std::atomic<std::int64_t> owner;
  std::int64_t reserved_[5];

  static Job& at_address(void* address) { return *static_cast<Job*>(address); }

  // The argument words, which follow the launch record in memory that Python lays out.
  std::int64_t* slots() { return static_cast<std::int64_t*>(arguments); }

  // Whether it has anything to report, now that it is over: a failure, prints, or that it was not
  // run to its end.
  bool has_report() const {
    return (launch->error_taken.load(std::memory_order_relaxed) |
            launch->print_used.load(std::memory_order_relaxed) |
            cancelled.load(std::memory_order_relaxed) | starved) != 0;
  }
};

inline constexpr std::size_t kJobWords = 40;
inline constexpr std::size_t kLaunchWords = 22;
static_assert(sizeof(Job) == kWord * kJobWords);
static_assert(sizeof(LaunchRecord) == kWord * kLaunchWords);
static_assert(sizeof(std::atomic<std::int64_t>) == kWord);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// Have a job, or a list of jobs, not run to its end. Its memory must stay until its stream has
// passed it.
void cancel(Job& job);

}  // namespace tw::cpu
