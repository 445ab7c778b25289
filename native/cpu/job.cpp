#include "cpu/job.hpp"

#include <algorithm>

#include "core/clock.hpp"
#include "cpu/poll.hpp"
#include "cpu/run.hpp"

namespace tw::cpu {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

// Nanoseconds for a piece of blocks below which the next one doubles and above which it halves.
constexpr std::int64_t kQuick = 64'000;
constexpr std::int64_t kSlow = 256'000;

// How many blocks a thread takes at a time: more until a piece takes about 100 us, or as many as
// share work; never so many that others have too little left.
class PieceSize {
 public:
  explicit PieceSize(const Job& job)
      // Who is alone until helpers are called goes by single blocks, not to be late.
      : least_(job.shared != 0 || job.threads == 1 ? job.together : 1),
        shares_(job.threads == 1 ? 1 : 4 * job.threads),
        size_(bounded(least_, job.blocks)) {}

  std::int64_t size() const { return size_; }

  // After a piece took that long, with so many blocks left when it was taken.
  void adapt(std::int64_t spent, std::int64_t left) {
    std::int64_t wanted = size_;
    if (spent < kQuick) wanted *= 2;
    if (spent > kSlow) wanted /= 2;
    size_ = bounded(std::max(wanted, least_), left);
  }

 private:
  std::int64_t bounded(std::int64_t wanted, std::int64_t left) const {
    return std::max<std::int64_t>(std::min(wanted, left / shares_), 1);
  }

  const std::int64_t least_;
  const std::int64_t shares_;
  std::int64_t size_;
};

// Notes the time spent in a job by this thread. Threads that do so at once may lose some of it;
// who asks, asks of jobs that take too little for more than one.
class Stopwatch {
 public:
  Stopwatch(Job& job, std::int64_t start) : job_(job), start_(start) {}
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    job_.lasted.store(job_.lasted.load(kRelaxed) + now() - start_, kRelaxed);
  }

 private:
  Job& job_;
  const std::int64_t start_;
};

}  // namespace

RunStatus run_blocks(Job& job, void* scratch, std::int64_t budget) {
  LaunchRecord& launch = *job.launch;
  PieceSize piece(job);
  launch.poll.store(&poll, kRelaxed);
  const std::int64_t start = now();
  const Stopwatch stopwatch(job, start);
  std::int64_t before = start;
  while (true) {
    const std::int64_t begin = job.counter.fetch_add(piece.size(), kRelaxed);
    const std::int64_t left = job.blocks - begin;
    if (left <= 0) return RunStatus::kDone;
    const std::int64_t end = begin + std::min(piece.size(), left);
    launch.begun.store(before, kRelaxed);
    job.kernel(job.arguments, &launch, begin, end, scratch);
    if (end >= job.blocks || launch.cancel.load(kRelaxed) != 0) return RunStatus::kDone;
    const std::int64_t after = now();
    piece.adapt(after - before, left);
    if (after - start > budget) return RunStatus::kUnfinished;
    before = after;
  }
}

void renew(Job& node) {
  node.counter.store(0, kRelaxed);
  node.shared = 0;
  node.launch->cancel.store(0, kRelaxed);
  node.launch->error_taken.store(0, kRelaxed);
}

void keep_failure(Job& list, const Job& node, std::int64_t number) {
  LaunchRecord& shown = *list.launch;
  const LaunchRecord& found = *node.launch;
  if (found.error_taken.load(kRelaxed) == 0 || shown.error_taken.load(kRelaxed) != 0) return;
  shown.error_taken.store(1, kRelaxed);
  shown.error_site = found.error_site;
  shown.error_block = found.error_block;
  shown.error_index = found.error_index;
  shown.error_extent = found.error_extent;
  list.failed = number;
}

void cancel_entry(Job& entry) {
  entry.cancelled.store(1, kRelaxed);
  if (entry.launch != nullptr) entry.launch->cancel.store(1, kRelaxed);
}

void cancel(Job& job) {
  cancel_entry(job);
  if (job.nodes == nullptr) return;
  const std::int64_t at = job.at.load(kRelaxed);
  if (at < job.node_count) job.nodes[at]->launch->cancel.store(1, kRelaxed);
}

}  // namespace tw::cpu
