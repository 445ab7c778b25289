// The order of jobs, waits between streams, jobs that run on the calling thread.
#include "cpu/stream.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>

#include "check.hpp"
#include "cpu_support.hpp"

using namespace tw::cpu;
using namespace tw::test;

namespace {

void sleep_for(std::int64_t nanoseconds) {
  std::this_thread::sleep_for(std::chrono::nanoseconds(nanoseconds));
}

void wait_until(const std::atomic<bool>& flag) {
  while (!flag.load()) sleep_for(kMillisecond / 10);
}

}  // namespace

TW_TEST(jobs_run_in_order) {
  Pool pool(kAlone);
  Stream stream(pool);
  const Workers workers(pool, 3);
  std::vector<std::int64_t> seen;
  std::vector<std::unique_ptr<Work>> jobs;
  for (int i = 0; i < 100; ++i) {
    jobs.push_back(std::make_unique<Work>([&seen, i](const Block&) { seen.push_back(i); }));
    TW_EQUAL(stream.enqueue(jobs.back()->job), i + 1);
  }
  drain(stream);
  TW_EQUAL(seen.size(), 100u);
  for (std::size_t i = 0; i < seen.size(); ++i) TW_EQUAL(seen[i], static_cast<std::int64_t>(i));
  TW_EQUAL(stream.completed(), 100);
}

TW_TEST(a_wait_lets_nothing_pass) {
  Pool pool(kAlone);
  Stream first(pool), second(pool);
  const Workers workers(pool, 2);
  std::atomic<bool> open{false}, passed{false};
  Work gate([&](const Block&) { wait_until(open); });
  Work behind([&](const Block&) { passed = true; });
  first.enqueue(gate.job);
  TW_EQUAL(second.enqueue_wait(first.completed_count(), 1), 1);
  TW_EQUAL(second.enqueue(behind.job), 2);
  TW_EQUAL(second.wait(2, 5 * kMillisecond), 0);
  TW_CHECK(!passed);
  open = true;
  TW_EQUAL(second.wait(2, kMinute), 1);
  TW_CHECK(passed);
}

TW_TEST(waits_that_are_over_are_passed_at_once) {
  Pool pool(kAlone);
  Stream first(pool), second(pool), third(pool);
  Work work([](const Block&) {});
  TW_CHECK(first.run_inline(work.job, nullptr, kMinute) == RunStatus::kDone);
  TW_EQUAL(second.enqueue_wait(first.completed_count(), 1), 1);
  TW_EQUAL(second.completed(), 1);
  // A chain: the wait of the third ends with that of the second, which ends with a job.
  second.enqueue_wait(first.completed_count(), 2);
  third.enqueue_wait(second.completed_count(), 2);
  TW_EQUAL(third.completed(), 0);
  TW_CHECK(first.run_inline(work.job, nullptr, kMinute) == RunStatus::kDone);
  TW_EQUAL(second.completed(), 2);
  TW_EQUAL(third.completed(), 1);
}

TW_TEST(a_stream_that_is_not_idle_runs_nothing_inline) {
  Pool pool(kAlone);
  Stream stream(pool);
  std::atomic<bool> open{false};
  Work gate([&](const Block&) { wait_until(open); });
  Work work([](const Block&) {});
  stream.enqueue(gate.job);
  TW_CHECK(stream.run_inline(work.job, nullptr, kMinute) == RunStatus::kBusy);
  TW_CHECK(!stream.reserve_idle());
  const Workers workers(pool, 1);
  open = true;
  drain(stream);
  TW_CHECK(stream.run_inline(work.job, nullptr, kMinute) == RunStatus::kDone);
  TW_EQUAL(stream.completed(), 2);
}

TW_TEST(a_job_is_left_when_time_is_up) {
  Pool pool(kAlone);
  Stream stream(pool);
  std::int64_t ran = 0;
  Work work([&](const Block&) { ++ran, sleep_for(kMillisecond); }, 10);
  TW_CHECK(stream.run_inline(work.job, nullptr, kMillisecond / 2) == RunStatus::kUnfinished);
  TW_EQUAL(ran, 1);
  TW_CHECK(stream.is_first(work.job));
  TW_EQUAL(pool.unfinished(), 1);
  TW_CHECK(stream.unfinished_of_caller() == &work.job);
  std::thread([&] { TW_CHECK(stream.unfinished_of_caller() == nullptr); }).join();
  while (stream.resume(work.job, nullptr, kMillisecond / 2) == RunStatus::kUnfinished) {
  }
  TW_EQUAL(ran, 10);
  TW_EQUAL(pool.unfinished(), 0);
  TW_CHECK(stream.unfinished_of_caller() == nullptr);
  TW_CHECK(stream.resume(work.job, nullptr, kMinute) == RunStatus::kDone);
  TW_EQUAL(ran, 10);
  TW_CHECK(work.job.lasted.load() >= 10 * kMillisecond);
}

TW_TEST(a_reservation_keeps_others_away) {
  Pool pool(kAlone);
  Stream stream(pool);
  const Workers workers(pool, 1);
  std::vector<int> seen;
  Work here([&](const Block&) { seen.push_back(1); });
  Work there([&](const Block&) { seen.push_back(2); });
  std::thread other;
  {
    Stream::Reservation reservation = stream.reserve_idle();
    TW_CHECK(static_cast<bool>(reservation));
    other = std::thread([&] { stream.enqueue(there.job); });
    sleep_for(5 * kMillisecond);
    TW_EQUAL(stream.submitted(), 0);
    reservation.occupy(here.job);
    TW_CHECK(!reservation);
  }
  other.join();
  TW_CHECK(stream.resume(here.job, nullptr, kMinute) == RunStatus::kDone);
  drain(stream);
  TW_CHECK((seen == std::vector<int>{1, 2}));
}

TW_TEST(a_reservation_may_be_given_up) {
  Pool pool(kAlone);
  Stream stream(pool);
  { const Stream::Reservation reservation = stream.reserve_idle(); }
  TW_EQUAL(stream.submitted(), 0);
  Work work([](const Block&) {});
  TW_CHECK(stream.run_inline(work.job, nullptr, kMinute) == RunStatus::kDone);
}

TW_TEST(a_cancelled_job_is_passed) {
  Pool pool(kAlone);
  Stream stream(pool);
  std::int64_t ran = 0;
  Work work([&](const Block&) { ++ran; }, 1000);
  {
    Stream::Reservation reservation = stream.reserve_idle();
    reservation.occupy(work.job);
  }
  cancel(work.job);
  TW_CHECK(stream.resume(work.job, nullptr, kMinute) == RunStatus::kDone);
  TW_EQUAL(ran, 0);
  TW_CHECK(work.job.has_report());
  TW_EQUAL(work.job.cancelled.load(), 1);
  TW_EQUAL(stream.completed(), 1);
}

TW_TEST(cancel_all_ends_what_runs_and_what_waits) {
  Pool pool(kAlone);
  Stream stream(pool), other(pool);
  const Workers workers(pool, 1);
  std::atomic<bool> begun{false};
  Work long_work(
      [&](const Block& block) {
        begun = true;
        while (block.launch.cancel.load() == 0) sleep_for(kMillisecond / 10);
      },
      5);
  Work never([](const Block&) { TW_CHECK(false); });
  stream.enqueue(long_work.job);
  stream.enqueue(never.job);
  wait_until(begun);
  stream.cancel_all();
  drain(stream);
  TW_EQUAL(long_work.job.cancelled.load(), 1);
  TW_EQUAL(never.job.cancelled.load(), 1);
}

TW_TEST(a_list_runs_its_nodes_in_order) {
  Pool pool(kAlone);
  Stream stream(pool);
  std::vector<std::int64_t> seen;
  Work a([&](const Block&) { seen.push_back(1); }, 2);
  Work b([&](const Block&) { seen.push_back(2), sleep_for(kMillisecond); }, 3);
  WorkList list({&a.job, &b.job, &a.job});
  RunStatus status = stream.run_inline(list.job, nullptr, kMillisecond / 2);
  TW_CHECK(status == RunStatus::kUnfinished);
  while (status == RunStatus::kUnfinished) {
    status = stream.resume(list.job, nullptr, kMillisecond / 2);
  }
  TW_CHECK((seen == std::vector<std::int64_t>{1, 1, 2, 2, 2, 1, 1}));
  TW_CHECK(!list.job.has_report());
  WorkList empty({});
  TW_CHECK(stream.run_inline(empty.job, nullptr, kMinute) == RunStatus::kDone);
}

TW_TEST(a_list_shows_its_first_failure) {
  Pool pool(kAlone);
  Stream stream(pool);
  const auto failing = [](std::int64_t site) {
    return [site](const Block& block) {
      block.launch.error_taken = 1;
      block.launch.error_site = site;
      block.launch.error_block = site + 1;
      block.launch.error_index = site + 2;
      block.launch.error_extent = site + 3;
    };
  };
  Work fine([](const Block&) {}), first(failing(10)), second(failing(20));
  WorkList list({&fine.job, &first.job, &second.job});
  TW_CHECK(stream.run_inline(list.job, nullptr, kMinute) == RunStatus::kDone);
  TW_CHECK(list.job.has_report());
  TW_EQUAL(list.job.failed, 1);
  TW_EQUAL(list.launch.error_site, 10);
  TW_EQUAL(list.launch.error_extent, 13);
}

TW_TEST(a_cancelled_list_ends_the_node_that_runs) {
  Pool pool(kAlone);
  Stream stream(pool);
  const Workers workers(pool, 1);
  std::atomic<bool> begun{false};
  Work endless([&](const Block& block) {
    begun = true;
    while (block.launch.cancel.load() == 0) sleep_for(kMillisecond / 10);
  });
  Work never([](const Block&) { TW_CHECK(false); });
  WorkList list({&endless.job, &never.job});
  stream.enqueue(list.job);
  wait_until(begun);
  cancel(list.job);
  drain(stream);
  TW_EQUAL(list.job.at.load(), 1);
  TW_CHECK(list.job.has_report());
}

TW_TEST(alerts_are_counted_when_points_are_reached) {
  Pool pool(kAlone);
  Stream stream(pool);
  Work work([](const Block&) {});
  TW_EQUAL(pool.wait_for_alert(0, 0), 0);
  TW_EQUAL(pool.alert(), 0);
  TW_EQUAL(pool.wait_for_alert(0, kMinute), 1);
  TW_EQUAL(stream.alert_at(2), 0);
  stream.run_inline(work.job, nullptr, kMinute);
  TW_EQUAL(pool.wait_for_alert(1, kMillisecond), 1);
  std::thread listener([&] { TW_EQUAL(pool.wait_for_alert(1, kMinute), 2); });
  stream.run_inline(work.job, nullptr, kMinute);
  listener.join();
  stream.alert_at(1);  // long past
  TW_EQUAL(pool.wait_for_alert(2, 0), 3);
}

TW_TEST(stopping_passes_all_that_waits) {
  Pool pool(kAlone);
  Stream ready(pool), blocked(pool), other(pool);
  Work never([](const Block&) { TW_CHECK(false); });
  Work late([](const Block&) { TW_CHECK(false); });
  ready.enqueue(never.job);
  blocked.enqueue_wait(ready.completed_count(), 5);
  blocked.enqueue_wait(ready.completed_count(), 6);
  pool.stop();
  TW_EQUAL(ready.completed(), 1);
  TW_EQUAL(blocked.completed(), 2);
  TW_EQUAL(never.job.cancelled.load(), 1);
  TW_EQUAL(other.enqueue(late.job), 1);
  TW_EQUAL(other.completed(), 1);
  TW_EQUAL(late.job.cancelled.load(), 1);
  std::int64_t ran = 0;
  Work here([&](const Block&) { ++ran; });
  TW_CHECK(other.run_inline(here.job, nullptr, kMinute) == RunStatus::kDone);
  TW_EQUAL(ran, 1);
}

TW_TEST(a_child_process_waits_for_nothing) {
  Pool pool(kAlone);
  Stream stream(pool);
  const Workers workers(pool, 2);
  std::atomic<bool> open{false};
  Work gate([&](const Block&) { wait_until(open); });
  stream.enqueue(gate.job);
  Stream idle(pool);
  Stream::Reservation held = idle.reserve_idle();  // nobody in the child will end it
  const pid_t child = fork();
  if (child == 0) {
    Work work([](const Block&) {});
    const bool refuses =
        stream.enqueue(work.job) == tw::cpu::kForked &&
        stream.enqueue_wait(idle.completed_count(), 1) == tw::cpu::kForked &&
        stream.wait(1, kMinute) == tw::cpu::kForked &&
        stream.alert_at(1) == tw::cpu::kForked && pool.alert() == tw::cpu::kForked &&
        pool.wait_for_alert(0, kMinute) == tw::cpu::kForked && !stream.reserve_idle() &&
        stream.run_inline(work.job, nullptr, kMinute) == RunStatus::kForked;
    _exit(refuses ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  TW_EQUAL(status, 0);
  Work last([](const Block&) {});
  held.occupy(last.job);
  TW_CHECK(idle.resume(last.job, nullptr, kMinute) == RunStatus::kDone);
  open = true;
  drain(stream);
}

TW_TEST(many_threads_put_many_jobs) {
  Pool pool(kAlone);
  const Workers workers(pool, 3);
  constexpr int kStreams = 4, kThreads = 3, kRounds = 300;
  std::vector<std::unique_ptr<Stream>> streams;
  // Not atomic: what writes them is in order, or the sanitizer says so.
  std::int64_t counts[kStreams] = {};
  for (int i = 0; i < kStreams; ++i) streams.push_back(std::make_unique<Stream>(pool));
  std::atomic<std::int64_t> ran{0};
  std::vector<std::vector<std::unique_ptr<Work>>> kept(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(static_cast<unsigned>(t));
      for (int i = 0; i < kRounds; ++i) {
        const std::size_t at = random() % kStreams;
        Stream& stream = *streams[at];
        kept[t].push_back(std::make_unique<Work>([&, at](const Block&) { ++counts[at], ++ran; }));
        Job& job = kept[t].back()->job;
        Stream& other = *streams[random() % kStreams];
        switch (random() % 4) {
          case 0:
            if (stream.run_inline(job, nullptr, kMinute) != RunStatus::kBusy) break;
            [[fallthrough]];
          case 1:
            stream.enqueue(job);
            break;
          case 2:
            // What is waited for was put before, so there are no cycles.
            if (&other != &stream) stream.enqueue_wait(other.completed_count(), other.submitted());
            stream.enqueue(job);
            break;
          default:
            stream.enqueue(job);
            if (stream.wait(stream.submitted(), kMinute) == 0) TW_CHECK(false);
        }
      }
    });
  }
  for (std::thread& each : threads) each.join();
  for (const auto& each : streams) drain(*each);
  TW_EQUAL(ran.load(), std::int64_t{kThreads} * kRounds);
  std::int64_t total = 0;
  for (const std::int64_t each : counts) total += each;
  TW_EQUAL(total, std::int64_t{kThreads} * kRounds);
}

TW_TEST_MAIN
