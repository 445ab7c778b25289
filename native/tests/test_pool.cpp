// Workers: who helps, with which scratch, what is left over; polls of blocks that last.
#include "cpu/pool.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <set>

#include "check.hpp"
#include "core/clock.hpp"
#include "cpu/poll.hpp"
#include "cpu_support.hpp"

using namespace tw::cpu;
using namespace tw::test;

namespace {

void spin_for(std::int64_t nanoseconds) {
  const std::int64_t start = now();
  while (now() - start < nanoseconds) {
  }
}

}  // namespace

TW_TEST(every_block_runs_once) {
  Pool pool(kAlone);
  Stream stream(pool);
  const Workers workers(pool, 3);
  for (const std::int64_t threads : {1, 2, 4, 9}) {
    for (const std::int64_t blocks : {0, 1, 2, 7, 1000}) {
      std::vector<std::int64_t> ran(static_cast<std::size_t>(blocks));
      Work work([&](const Block& block) { ++ran[block.number], spin_for(2'000); }, blocks, threads);
      for (std::int64_t round = 1; round <= 3; ++round) {
        RunStatus status = stream.run_inline(work.job, nullptr, kMinute);
        while (status == RunStatus::kUnfinished) {
          status = stream.resume(work.job, nullptr, kMinute);
        }
        for (const std::int64_t each : ran) TW_EQUAL(each, round);
        stream.enqueue(work.job);
        drain(stream);
        for (std::int64_t& each : ran) --each;
      }
    }
  }
}

TW_TEST(blocks_that_wait_for_each_other_have_threads) {
  Pool pool(kAlone);
  Stream stream(pool);
  const Workers workers(pool, 2);
  std::atomic<std::int64_t> inside{0};
  Work work(
      [&](const Block& block) {
        if (block.number == 0) return spin_for(2 * kAlone);  // alone until then
        ++inside;
        while (inside.load() < 3) relax();
      },
      4, 3);
  RunStatus status = stream.run_inline(work.job, nullptr, kMinute);
  while (status == RunStatus::kUnfinished) status = stream.resume(work.job, nullptr, kMinute);
  TW_EQUAL(inside.load(), 3);
  TW_EQUAL(work.job.helpers.load(), 0);
  TW_EQUAL(work.job.listed, 0);
}

TW_TEST(helpers_are_called_at_once_where_a_job_lasted) {
  Pool pool(kAlone);
  Stream stream(pool);
  const Workers workers(pool, 1);
  Work work([](const Block&) { spin_for(20'000); }, 200, 2);
  stream.run_inline(work.job, nullptr, kMinute);
  TW_EQUAL(work.job.was_long, 1);
  work.job.blocks = 1;
  stream.run_inline(work.job, nullptr, kMinute);
  Work brief([](const Block&) {}, 100, 2);
  brief.job.was_long = 1;
  stream.run_inline(brief.job, nullptr, kAlone / 2);  // too little time to call anybody
  TW_EQUAL(brief.job.was_long, 0);
}

TW_TEST(neighbours_run_together) {
  Pool pool(kAlone);
  Stream stream(pool);
  std::vector<std::int64_t> pieces;
  struct Pieces {
    static void note(void* arguments, LaunchRecord*, std::int64_t begin, std::int64_t end, void*) {
      static_cast<std::vector<std::int64_t>*>(arguments)->push_back(end - begin);
      spin_for(300'000);  // so long that pieces would be halved
    }
  };
  Work work([](const Block&) {}, 12);
  work.job.kernel = Pieces::note;
  work.job.arguments = &pieces;
  work.job.together = 4;
  TW_CHECK(stream.run_inline(work.job, nullptr, kMinute) == RunStatus::kDone);
  TW_CHECK((pieces == std::vector<std::int64_t>{4, 4, 4}));
}

TW_TEST(pieces_grow_while_they_take_little) {
  Pool pool(kAlone);
  Stream stream(pool);
  std::atomic<std::int64_t> calls{0};
  struct Count {
    static void run(void* arguments, LaunchRecord*, std::int64_t, std::int64_t, void*) {
      ++*static_cast<std::atomic<std::int64_t>*>(arguments);
    }
  };
  Work work([](const Block&) {}, 1 << 20);
  work.job.kernel = Count::run;
  work.job.arguments = &calls;
  TW_CHECK(stream.run_inline(work.job, nullptr, kMinute) == RunStatus::kDone);
  TW_CHECK(calls.load() < 1000);
}

TW_TEST(each_thread_has_scratch) {
  Pool pool(kAlone);
  Stream stream(pool);
  const Workers workers(pool, 3);
  constexpr std::int64_t kBytes = 100'000;
  Work work(
      [&](const Block& block) {
        auto* words = static_cast<std::int64_t*>(block.scratch);
        TW_EQUAL(reinterpret_cast<std::uintptr_t>(words) % 64, 0u);
        for (std::int64_t i = 0; i < kBytes / 8; ++i) words[i] = block.number;
        for (std::int64_t i = 0; i < kBytes / 8; ++i) {
          if (words[i] != block.number) TW_CHECK(false);
        }
      },
      300, 4);
  work.job.scratch_bytes = kBytes;
  for (int i = 0; i < 3; ++i) {
    stream.enqueue(work.job);
    drain(stream);
  }
  TW_CHECK(!work.job.has_report());
}

TW_TEST(a_job_without_memory_for_its_scratch_is_not_run) {
  Pool pool(kAlone);
  Stream stream(pool);
  const Workers workers(pool, 1);
  Work work([](const Block&) { TW_CHECK(false); });
  work.job.scratch_bytes = std::int64_t{1} << 60;
  stream.enqueue(work.job);
  drain(stream);
  TW_EQUAL(work.job.starved, 1);
  TW_CHECK(work.job.has_report());
}

TW_TEST(a_helper_without_memory_leaves_the_job_to_its_owner) {
  Pool pool(kAlone);
  Stream stream(pool);
  const Workers workers(pool, 2);
  std::atomic<std::int64_t> ran{0};
  Work work([&](const Block&) { ++ran, spin_for(10'000); }, 200, 3);
  work.job.scratch_bytes = std::int64_t{1} << 60;
  char scratch = 0;
  RunStatus status = stream.run_inline(work.job, &scratch, kMinute);
  while (status == RunStatus::kUnfinished) status = stream.resume(work.job, &scratch, kMinute);
  TW_EQUAL(ran.load(), 200);
}

TW_TEST(a_long_job_does_not_keep_others_from_starting) {
  Pool pool(kAlone);
  Stream busy(pool), other(pool);
  const Workers workers(pool, 1);
  std::atomic<bool> open{false};
  Work brief([&](const Block&) { open = true; });
  Work endless(
      [&](const Block&) {
        if (!open.load()) spin_for(100'000);
      },
      1'000'000, 2);
  // The only worker helps with it, until something else is put up.
  std::thread owner([&] {
    RunStatus status = busy.run_inline(endless.job, nullptr, kMillisecond);
    while (status == RunStatus::kUnfinished) {
      status = busy.resume(endless.job, nullptr, kMillisecond);
    }
  });
  while (busy.submitted() == 0) relax();
  spin_for(kMillisecond);
  other.enqueue(brief.job);
  TW_EQUAL(other.wait(1, kMinute), 1);
  owner.join();
}

TW_TEST(stopping_lets_a_job_that_runs_end) {
  Pool pool(kAlone);
  Stream stream(pool);
  Workers workers(pool, 2);
  std::atomic<bool> begun{false};
  Work work(
      [&](const Block&) {
        begun = true;
        spin_for(100'000);
      },
      20, 2);
  stream.enqueue(work.job);
  while (!begun.load()) relax();
  workers.stop();
  TW_EQUAL(stream.completed(), 1);
}

TW_TEST(many_launches_share_the_workers) {
  Pool pool(kAlone);
  const Workers workers(pool, 3);
  constexpr std::int64_t kBlocks = 64;
  std::vector<std::thread> threads;
  std::atomic<std::int64_t> wrong{0};
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Stream stream(pool);
      std::vector<std::int64_t> ran(kBlocks);  // not atomic: each block is another element
      Work work([&](const Block& block) { ++ran[block.number], spin_for(1'000); }, kBlocks, 4);
      for (std::int64_t round = 1; round <= 200; ++round) {
        if (round % 3 == 0) {
          stream.enqueue(work.job);
          drain(stream);
        } else {
          RunStatus status = stream.run_inline(work.job, nullptr, kAlone * (round % 4));
          while (status == RunStatus::kUnfinished) {
            status = stream.resume(work.job, nullptr, kMillisecond);
          }
        }
        for (const std::int64_t each : ran) wrong += each != round;
      }
    });
  }
  for (std::thread& each : threads) each.join();
  TW_EQUAL(wrong.load(), 0);
}

// Polls.

namespace {

int checks = 0;
bool raises = false;

bool check_signals() {
  ++checks;
  return raises;
}

}  // namespace

TW_TEST(polls_become_as_frequent_as_they_should) {
  LaunchRecord launch{};
  launch.begun = now();
  TW_EQUAL(poll(&launch), 128);  // at once, so twice as late as the first
  TW_EQUAL(poll(&launch), 256);
  launch.polled = now() - 5 * kMillisecond;
  launch.begun = launch.polled.load();
  TW_EQUAL(poll(&launch), 128);
  launch.cancel = 1;
  TW_EQUAL(poll(&launch), 0);
}

TW_TEST(signals_are_looked_for_where_a_block_lasts) {
  set_signal_check(check_signals);
  checks = 0;
  LaunchRecord launch{};
  launch.begun = now();
  TW_CHECK(poll(&launch) != 0);
  TW_EQUAL(checks, 0);
  launch.begun = launch.polled = now() - 300 * kMillisecond;
  TW_CHECK(poll(&launch) != 0);
  TW_EQUAL(checks, 1);
  raises = true;
  launch.polled = now() - 100 * kMillisecond;
  TW_EQUAL(poll(&launch), 0);
  TW_EQUAL(launch.cancel.load(), 1);
  set_signal_check(nullptr);
}

TW_TEST_MAIN
