// Running jobs, with helpers if they last; lives of workers.
//
// Who owns a job runs it alone for a moment, since waking a helper takes as long; then the job is
// listed, and idle workers join. Where that was so before, they are called first. The owner leaves
// when they have.
#include "cpu/pool.hpp"

#include <sched.h>

#include <algorithm>

#include "cpu/arena.hpp"
#include "core/clock.hpp"
#include "cpu/processor.hpp"
#include "cpu/run.hpp"

namespace tw::cpu {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// Nanoseconds after which a helper sees whether a stream has become ready, so that a long job does
// not keep others from starting.
constexpr std::int64_t kHelpTime = 1'000'000;
// Workers look out longer than kSpin after work that lasted: a part of its time, and nanoseconds at
// most. Who launches again meanwhile need not wake them, which takes 50 us.
constexpr std::int64_t kPatiencePart = 8;
constexpr std::int64_t kLongestPatience = 400'000;

}  // namespace

// Running jobs.

RunStatus Pool::run_entry(Job& entry, void* scratch, std::int64_t budget) {
  if (entry.nodes == nullptr) return run_job(entry, scratch, budget);
  while (true) {
    const std::int64_t at = entry.at.load(kRelaxed);
    const bool has_next = at < entry.node_count && entry.cancelled.load(kRelaxed) == 0;
    // A node that was begun is seen to its end, cancelled or not: helpers may be in it.
    if (!has_next && entry.begun == 0) return RunStatus::kDone;
    Job& node = *entry.nodes[at];
    if (entry.begun == 0) {
      renew(node);
      entry.begun = 1;
    }
    if (run_job(node, scratch, budget) == RunStatus::kUnfinished) return RunStatus::kUnfinished;
    keep_failure(entry, node, at);
    entry.at.store(at + 1, kRelaxed);
    entry.begun = 0;
  }
}

RunStatus Pool::run_job(Job& job, void* scratch, std::int64_t budget) {
  if (job.shared == 0) {
    const bool has_several = job.threads > 1;
    const bool may_share = has_several && budget > alone_;
    if (job.was_long == 0 || !may_share) {
      job.was_long = 0;
      const std::int64_t first = has_several ? std::min(alone_, budget) : budget;
      const RunStatus status = run_blocks(job, scratch, first);
      if (status == RunStatus::kDone || !may_share) return status;
    }
    share(job);
  }
  if (run_blocks(job, scratch, budget) == RunStatus::kUnfinished) return RunStatus::kUnfinished;
  const RunStatus status = await_helpers(job);
  job.was_long = now() - job.since > alone_;
  return status;
}

// Lets helpers find a job.
void Pool::share(Job& job) {
  job.processor = current_processor();
  job.since = now();
  std::int64_t woken;
  {
    const Lock lock(mutex_);
    job.room = job.threads - 1;
    job.shared = 1;
    job.listed = 1;
    job.next_shared = std::exchange(shared_, &job);
    generation_.fetch_add(1, std::memory_order_release);
    woken = wake(job.room);
  }
  if (woken > 0) sched_yield();  // one that was woken may wait for this very processor
}

// Lets helpers find a job no longer.
void Pool::unlist(Job& job, const Lock&) {
  if (job.listed == 0) return;
  Job** place = &shared_;
  while (*place != &job) place = &(*place)->next_shared;
  *place = job.next_shared;
  job.listed = 0;
}

// Waits until no helper is in a job any more: kDone; or kUnfinished, after a nap.
RunStatus Pool::await_helpers(Job& job) {
  const auto is_alone = [&] { return job.helpers.load(std::memory_order_acquire) == 0; };
  const std::int64_t start = now();
  while (!is_alone() && now() - start <= kSpin) relax();
  Lock lock(mutex_);
  unlist(job, lock);
  const bool done = helped_.wait_until(lock, deadline(kNap), is_alone);
  return done ? RunStatus::kDone : RunStatus::kUnfinished;
}

// Lives of workers.

void Pool::serve() {
  Arena arena;
  Lock lock(mutex_);
  std::int64_t busy_since = now();
  while (!is_stopped()) {
    const std::int64_t seen = generation_.load(kRelaxed);
    if (Stream* stream = take_ready(lock)) {
      lock.unlock();
      run_head(*stream, arena);
      lock.lock();
    } else if (Job* job = join(lock)) {
      lock.unlock();
      help(*job, arena);
      lock.lock();
    } else {
      ++looking_;
      lock.unlock();
      look_out(seen, busy_since);
      lock.lock();
      --looking_;
      sleep(seen, lock);
      busy_since = now();
    }
  }
}

// The first ready stream, taken off the list, or null.
Stream* Pool::take_ready(const Lock&) {
  Stream* stream = ready_;
  if (stream == nullptr) return nullptr;
  ready_ = stream->link_;
  if (ready_ == nullptr) ready_end_ = nullptr;
  --ready_count_;
  wake_for_ready();  // more may have become ready than anybody was woken for
  return stream;
}

// A job that may be helped, joined, or null.
Job* Pool::join(const Lock&) {
  for (Job* job = shared_; job != nullptr; job = job->next_shared) {
    if (job->room <= 0) continue;
    --job->room;
    job->helpers.fetch_add(1, kRelaxed);
    return job;
  }
  return nullptr;
}

// Runs the head of a stream from beginning to end.
void Pool::run_head(Stream& stream, Arena& arena) {
  Job& job = *stream.head_.load(kRelaxed);
  if (arena.reserve(job.scratch_bytes)) {
    while (run_entry(job, arena.memory(), kForever) == RunStatus::kUnfinished) {
    }
  } else {
    job.starved = 1;
  }
  arena.trim(kKeptScratch);
  const Lock lock(mutex_);
  finish_head(stream);
}

// Works on a job of another thread for a while, as one of its helpers.
void Pool::help(Job& job, Arena& arena) {
  const std::int64_t here = current_processor();
  if (here == job.processor) leave_processor(here);
  // A helper that finds no memory leaves the job to its owner, and keeps other helpers away.
  RunStatus status = RunStatus::kDone;
  if (arena.reserve(job.scratch_bytes)) {
    status = run_blocks(job, arena.memory(), kHelpTime);
    arena.trim(kKeptScratch);
  }
  const Lock lock(mutex_);
  ++job.room;
  if (status == RunStatus::kDone) unlist(job, lock);
  if (job.helpers.fetch_sub(1, std::memory_order_release) == 1) helped_.notify_all();
}

// Looks out until something new has been put up, or for a moment, by how long a worker was busy.
void Pool::look_out(std::int64_t seen, std::int64_t busy_since) const {
  const std::int64_t start = now();
  const std::int64_t patience =
      std::max(std::min((start - busy_since) / kPatiencePart, kLongestPatience), kSpin);
  while (generation_.load(std::memory_order_acquire) == seen && now() - start <= patience) relax();
}

// Sleeps until something new has been put up.
void Pool::sleep(std::int64_t seen, Lock& lock) {
  while (generation_.load(kRelaxed) == seen) {
    ++sleeping_;
    work_.wait(lock);
    --sleeping_;
  }
}

}  // namespace tw::cpu
