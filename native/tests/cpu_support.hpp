// Jobs and workers for tests of the CPU.
#pragma once

#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include "cpu/job.hpp"
#include "cpu/pool.hpp"
#include "cpu/stream.hpp"

// Memory that is not to be had is no error of the program.
#define TW_VISIBLE extern "C" __attribute__((used, visibility("default")))
TW_VISIBLE inline const char* __asan_default_options() { return "allocator_may_return_null=1"; }
TW_VISIBLE inline const char* __tsan_default_options() { return "allocator_may_return_null=1"; }

namespace tw::test {

inline constexpr std::int64_t kAlone = 15'000;
inline constexpr std::int64_t kMillisecond = 1'000'000;
inline constexpr std::int64_t kMinute = 60'000 * kMillisecond;

// What a block is given: its number, its launch and its scratch.
struct Block {
  std::int64_t number;
  cpu::LaunchRecord& launch;
  void* scratch;
};

// A job whose blocks call a function.
class Work {
 public:
  explicit Work(std::function<void(const Block&)> function, std::int64_t blocks = 1,
                std::int64_t threads = 1)
      : function_(std::move(function)) {
    job.kernel = run;
    job.arguments = this;
    job.launch = &launch;
    job.blocks = blocks;
    job.threads = threads;
    job.together = 1;
  }
  Work(const Work&) = delete;
  Work& operator=(const Work&) = delete;

  cpu::LaunchRecord launch{};
  cpu::Job job{};

 private:
  static void run(void* self, cpu::LaunchRecord* launch, std::int64_t begin, std::int64_t end,
                  void* scratch) {
    for (std::int64_t i = begin; i < end && launch->cancel.load() == 0; ++i) {
      static_cast<Work*>(self)->function_({i, *launch, scratch});
    }
  }

  std::function<void(const Block&)> function_;
};

// Jobs that run as one entry of a stream.
class WorkList {
 public:
  explicit WorkList(std::vector<cpu::Job*> nodes) : nodes_(std::move(nodes)) {
    nodes_.push_back(nullptr);  // so that there is an address even of no nodes
    job.launch = &launch;
    job.nodes = nodes_.data();
    job.node_count = static_cast<std::int64_t>(nodes_.size()) - 1;
    job.threads = 1;
  }

  cpu::LaunchRecord launch{};
  cpu::Job job{};

 private:
  std::vector<cpu::Job*> nodes_;
};

// Workers of a pool, which end with the scope.
class Workers {
 public:
  Workers(cpu::Pool& pool, int count) : pool_(pool) {
    for (int i = 0; i < count; ++i) threads_.emplace_back([&pool] { pool.serve(); });
    pool.set_workers(count);
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers() { stop(); }

  void stop() {
    pool_.stop();
    for (std::thread& each : threads_) each.join();
    threads_.clear();
  }

 private:
  cpu::Pool& pool_;
  std::vector<std::thread> threads_;
};

// Waits until all that was added so far has passed.
inline void drain(cpu::Stream& stream) {
  while (stream.wait(stream.submitted(), kMinute) == 0) {
  }
}

}  // namespace tw::test
