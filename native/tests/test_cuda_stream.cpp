// Launches, waits and events by a table of functions that are no driver's.
#include <array>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "core/borrow.hpp"
#include "cuda/stream.hpp"
#include "tests/check.hpp"

namespace {

using namespace tw;
using namespace tw::cuda;

template <typename Handle>
Handle handle(uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

// What the driver was asked, and what it says.
struct Fake {
  Context current = nullptr;
  std::vector<std::string> calls;
  std::vector<Context> stack;  // what was pushed
  Status get = 0, push = 0, kernel = 0, graph = 0, record = 0;
  std::vector<Status> queries;  // answers one after another; the last one stays
  size_t asked = 0;

  Function function = nullptr;
  std::array<unsigned, 7> dims{};
  Stream stream = nullptr;
  int64_t parameters_expected = 0;
  std::vector<int64_t> parameters;
  bool ended = false;

  Status next_query() {
    calls.push_back("query");
    const size_t i = std::min(asked++, queries.size() - 1);
    return queries[i];
  }
};

Fake* fake = nullptr;

const Driver kDriver = {
    .cuCtxGetCurrent = [](Context* place) {
      *place = fake->current;
      return fake->get;
    },
    .cuCtxPushCurrent = [](Context context) {
      fake->calls.push_back("push");
      if (fake->push == kSuccess) {
        fake->stack.push_back(fake->current);
        fake->current = context;
      }
      return fake->push;
    },
    .cuCtxPopCurrent = [](Context* place) {
      fake->calls.push_back("pop");
      *place = fake->current;
      fake->current = fake->stack.back();
      fake->stack.pop_back();
      return kSuccess;
    },
    .cuLaunchKernel = [](Function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                         unsigned by, unsigned bz, unsigned shared, Stream stream,
                         void** parameters, void** extra) {
      fake->calls.push_back("launch");
      TW_CHECK(extra == nullptr);
      fake->function = function;
      fake->dims = {gx, gy, gz, bx, by, bz, shared};
      fake->stream = stream;
      for (int64_t i = 0; i < fake->parameters_expected; ++i) {
        fake->parameters.push_back(*static_cast<int64_t*>(parameters[i]));
      }
      if (fake->parameters_expected) fake->ended = !parameters[fake->parameters_expected];
      return fake->kernel;
    },
    .cuGraphLaunch = [](GraphExec, Stream) {
      fake->calls.push_back("graph");
      return fake->graph;
    },
    .cuEventRecord = [](Event, Stream) {
      fake->calls.push_back("record");
      return fake->record;
    },
    .cuEventQuery = [](Event) { return fake->next_query(); },
    .cuStreamQuery = [](Stream) { return fake->next_query(); },
    .cuStreamWaitEvent =
        [](Stream, Event, unsigned) {
          fake->calls.push_back("wait");
          return kSuccess;
        },
    .cuEventCreate =
        [](Event* event, unsigned) {
          fake->calls.push_back("create");
          *event = handle<Event>(9);
          return kSuccess;
        },
    .cuEventDestroy =
        [](Event) {
          fake->calls.push_back("destroy");
          return kSuccess;
        },
    .cuMemcpyHtoDAsync =
        [](uint64_t target, const void* source, size_t bytes, Stream) {
          fake->calls.push_back("copy_in");
          fake->parameters = {static_cast<int64_t>(target), reinterpret_cast<int64_t>(source),
                              static_cast<int64_t>(bytes)};
          return fake->kernel;
        },
};

// A fake for a scope.
struct Using : Fake {
  Using() { fake = this; }
  ~Using() { fake = nullptr; }
  std::string log() const {
    std::string all;
    for (const std::string& each : calls) all += each + " ";
    return all;
  }
};

const Context kContext = handle<Context>(77);
const Stream kStream = handle<Stream>(5);

LaunchRecord a_record() {
  return {kContext, handle<Function>(88), {1, 2, 3}, {4, 5, 6}, 7, nullptr};
}

int64_t nanoseconds_since(std::chrono::steady_clock::time_point start) {
  return (std::chrono::steady_clock::now() - start) / std::chrono::nanoseconds(1);
}

TW_TEST(functions_are_set_by_their_names) {
  Driver table{};
  int64_t places[12];
  int64_t* place = places;
  for (const DriverFunction& each : driver_functions()) set_function(table, each, place++);
  TW_EQUAL(driver_functions().size(), size_t{12});
  TW_EQUAL(std::string(driver_functions()[0].name), "cuCtxGetCurrent");
  TW_CHECK(reinterpret_cast<void*>(table.cuCtxGetCurrent) == &places[0]);
  TW_CHECK(reinterpret_cast<void*>(table.cuLaunchKernel) == &places[3]);
  TW_CHECK(reinterpret_cast<void*>(table.cuStreamQuery) == &places[7]);
}

// What was called, but for contexts.
std::string without_contexts(std::string made) {
  for (const char* wrapped : {"push ", "pop "}) {
    for (size_t at; (at = made.find(wrapped)) != std::string::npos;) {
      made.erase(at, std::string(wrapped).size());
    }
  }
  return made;
}

TW_TEST(streams_wait_by_an_event_that_is_made_once) {
  Using driver;
  Queue other{kContext, handle<Stream>(6), nullptr};
  TW_EQUAL(wait_for(kDriver, kContext, kStream, other), kSuccess);
  TW_EQUAL(wait_for(kDriver, kContext, kStream, other), kSuccess);
  close(kDriver, other);
  close(kDriver, other);
  TW_CHECK(other.event == nullptr);
  TW_EQUAL(without_contexts(driver.log()), "create record wait record wait destroy ");
}

TW_TEST(a_stream_follows_those_of_others_by_its_own_event) {
  Using driver;
  Queue queue{kContext, kStream, nullptr};
  TW_EQUAL(follow(kDriver, queue, handle<Stream>(6)), kSuccess);
  TW_EQUAL(follow(kDriver, queue, handle<Stream>(7)), kSuccess);
  TW_EQUAL(follow(kDriver, queue, kStream), kSuccess);  // nothing to do
  TW_CHECK(queue.event != nullptr && queue.stream == kStream);
  driver.record = 709;
  TW_EQUAL(follow(kDriver, queue, handle<Stream>(6)), 709);
  close(kDriver, queue);
  TW_EQUAL(without_contexts(driver.log()), "create record wait record wait record destroy ");
}

TW_TEST(a_launch_in_another_context_leaves_the_thread_as_it_was) {
  Using driver;
  driver.current = handle<Context>(66);
  const LaunchRecord record = a_record();
  TW_EQUAL(launch(kDriver, record, nullptr, kStream), kSuccess);
  TW_EQUAL(driver.log(), "push launch pop ");
  TW_CHECK(driver.current == handle<Context>(66) && driver.stack.empty());
  TW_CHECK(driver.function == handle<Function>(88) && driver.stream == kStream);
  TW_CHECK((driver.dims == std::array<unsigned, 7>{1, 2, 3, 4, 5, 6, 7}));
}

TW_TEST(a_launch_in_its_own_context_enters_nothing) {
  Using driver;
  driver.current = kContext;
  TW_EQUAL(launch(kDriver, a_record(), nullptr, kStream), kSuccess);
  TW_EQUAL(driver.log(), "launch ");
}

TW_TEST(refusals_are_reported_and_the_context_is_left) {
  {
    Using driver;
    driver.get = 700;
    TW_EQUAL(launch(kDriver, a_record(), nullptr, kStream), 700);
    TW_EQUAL(driver.log(), "");
  }
  {
    Using driver;
    driver.push = 701;
    TW_EQUAL(launch(kDriver, a_record(), nullptr, kStream), 701);
    TW_EQUAL(driver.log(), "push ");
  }
  {
    Using driver;
    driver.kernel = 702;
    TW_EQUAL(launch(kDriver, a_record(), nullptr, kStream), 702);
    TW_EQUAL(driver.log(), "push launch pop ");
  }
  {
    Using driver;
    driver.graph = 9;
    TW_EQUAL(launch_graph(kDriver, kContext, handle<GraphExec>(1), kStream), 9);
    TW_EQUAL(driver.log(), "push graph pop ");
  }
  {
    Using driver;
    driver.record = 8;
    TW_EQUAL(record_event(kDriver, kContext, handle<Event>(1), kStream), 8);
    TW_EQUAL(driver.log(), "push record pop ");
  }
  {
    Using driver;
    driver.push = 701;  // there is nothing to ask then
    TW_EQUAL(drain(kDriver, kContext, kStream, int64_t{1} << 60), 701);
    TW_EQUAL(await_event(kDriver, kContext, handle<Event>(1), int64_t{1} << 60), 701);
    TW_EQUAL(driver.log(), "push push ");
  }
}

// A launch of a kernel with two tensors, one number, and the other parameters that are always the
// index of their place.
struct Planned {
  explicit Planned(int64_t count)
      : record(static_cast<size_t>(first_parameter(count) + count)),
        tensor_places{first_parameter(count), first_parameter(count) + count - 1},
        number_places{first_parameter(count) + 2} {
    for (int64_t i = 0; i < count; ++i) record[static_cast<size_t>(first_parameter(count) + i)] = i;
    plan.record = record.data();
    plan.parameters = count;
    plan.tensors = 2;
    plan.tensor_places = tensor_places;
    plan.numbers = 1;
    plan.number_places = number_places;
    plan.written = 1;
    for (int i = 0; i < 2; ++i) {
      tensors[i] = {.kind = 0, .address = 4096 * (i + 1), .storage = &memory[i], .state = nullptr};
      row[i] = reinterpret_cast<int64_t>(&tensors[i]);
    }
  }

  std::vector<int64_t> record;
  int64_t tensor_places[2];
  int64_t number_places[1];
  StorageRecord memory[2] = {};
  TensorRecord tensors[2];
  int64_t row[5] = {};
  LaunchPlan plan = {};
};

void check_parameters(int64_t count) {
  Using driver;
  driver.parameters_expected = count;
  Planned planned(count);
  const std::vector<int64_t> before = planned.record;
  Parameters parameters(count);
  TW_CHECK(parameters.ok());
  const int64_t number = -5;
  parameters.fill(planned.plan, uses_of(planned.plan, planned.row), &number);
  TW_EQUAL(launch(kDriver, a_record(), parameters.addresses(), kStream), kSuccess);
  std::vector<int64_t> expected(static_cast<size_t>(count));
  for (size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<int64_t>(i);
  expected[0] = 4096;
  expected[2] = -5;
  expected.back() = 8192;
  TW_CHECK(driver.parameters == expected);
  TW_CHECK(driver.ended);  // a null ends their addresses
  TW_CHECK(planned.record == before);  // for the next launch
}

TW_TEST(parameters_are_those_of_the_record_but_for_tensors_and_numbers) { check_parameters(4); }

TW_TEST(a_parameter_is_set_by_its_place_in_the_record) {
  for (const int64_t count : {4, 65}) {
    Using driver;
    driver.parameters_expected = count;
    Planned planned(count);
    Parameters parameters(count);
    const int64_t number = 0;
    parameters.fill(planned.plan, uses_of(planned.plan, planned.row), &number);
    parameters.set(first_parameter(count) + 1, 77);
    TW_EQUAL(launch(kDriver, a_record(), parameters.addresses(), kStream), kSuccess);
    TW_EQUAL(driver.parameters[0], 4096);
    TW_EQUAL(driver.parameters[1], 77);
  }
}

TW_TEST(pinned_memory_is_copied_in_its_context) {
  Using driver;
  driver.current = handle<Context>(66);
  TW_EQUAL(copy_in(kDriver, kContext, 4096, 8192, 12, kStream), kSuccess);
  TW_EQUAL(driver.log(), "push copy_in pop ");
  TW_CHECK((driver.parameters == std::vector<int64_t>{4096, 8192, 12}));
  driver.kernel = 700;
  TW_EQUAL(copy_in(kDriver, kContext, 4096, 8192, 12, kStream), 700);
}

TW_TEST(any_number_of_parameters_can_be_given) {
  for (const int64_t count : {63, 64, 65, 500}) check_parameters(count);
}

TW_TEST(a_launch_without_parameters) {
  LaunchPlan plan = {};
  std::vector<int64_t> record(static_cast<size_t>(first_parameter(0)));
  plan.record = record.data();
  Parameters parameters(0);
  parameters.fill(plan, uses_of(plan, nullptr), nullptr);
  TW_CHECK(parameters.addresses()[0] == nullptr);
}

TW_TEST(what_was_submitted_is_counted) {
  Timeline timeline = {};
  timeline.unsubmitted = 2;
  const Submission done = count_submitted(timeline, kSuccess);
  TW_CHECK(done.kind == Submission::Kind::kDone);
  TW_EQUAL(done.submitted, 1);
  TW_EQUAL(timeline.submitted, 1);
  TW_EQUAL(timeline.unsubmitted, 1);
  TW_EQUAL(done.encoded(), int64_t{1} << 16);
}

TW_TEST(what_was_refused_is_not_counted_as_submitted_nor_as_about_to_be) {
  Timeline timeline = {};
  timeline.unsubmitted = 1;
  const Submission done = count_submitted(timeline, 701);
  TW_CHECK(done.kind == Submission::Kind::kRefused);
  TW_EQUAL(timeline.submitted, 0);
  TW_EQUAL(timeline.unsubmitted, 0);
  TW_EQUAL(done.encoded(), -701);
}

TW_TEST(submissions_are_told_in_one_number) {
  TW_EQUAL(Submission::none().encoded(), 0);
  TW_EQUAL(Submission::error().encoded(), INT64_MIN);
  const Submission late = {.kind = Submission::Kind::kDone, .status = kNotReady, .submitted = 3};
  TW_EQUAL(late.encoded(), (int64_t{3} << 16) | 600);
}

TW_TEST(a_drained_stream_has_passed_what_was_issued_if_all_of_it_was_there) {
  Timeline timeline = {};
  issue(timeline, 1, false);
  issue(timeline, 2, false);
  count_submitted(timeline, kSuccess);
  DrainPoint(timeline).drained(timeline);  // the other one may come yet
  TW_EQUAL(timeline.over, 0);
  count_submitted(timeline, kSuccess);
  const DrainPoint point(timeline);
  issue(timeline, 3, false);  // by another thread, while this one waits
  point.drained(timeline);
  TW_EQUAL(timeline.over, 2);
}

TW_TEST(one_look_does_not_wait) {
  Using driver;
  driver.current = kContext;
  driver.queries = {kNotReady};
  TW_EQUAL(drain(kDriver, kContext, kStream, 0), kNotReady);
  TW_EQUAL(await_event(kDriver, kContext, handle<Event>(3), 0), kNotReady);
  TW_EQUAL(driver.log(), "query query ");
  driver.queries = {kSuccess};
  TW_EQUAL(drain(kDriver, kContext, kStream, 0), kSuccess);
}

TW_TEST(waiting_asks_until_it_is_so) {
  Using driver;
  driver.queries = {kNotReady, kNotReady, kNotReady, kSuccess};
  TW_EQUAL(drain(kDriver, kContext, kStream, int64_t{1} << 60), kSuccess);
  TW_EQUAL(driver.log(), "push query query query query pop ");
}

TW_TEST(waiting_ends_with_an_error) {
  Using driver;
  driver.queries = {kNotReady, 719};
  TW_EQUAL(await_event(kDriver, kContext, handle<Event>(3), int64_t{1} << 60), 719);
  TW_CHECK(driver.current == nullptr);
}

TW_TEST(waiting_ends_when_time_is_up_and_sleeps_if_that_is_long) {
  Using driver;
  driver.queries = {kNotReady};
  const auto start = std::chrono::steady_clock::now();
  TW_EQUAL(await_event(kDriver, kContext, handle<Event>(3), 200'000'000), kNotReady);
  TW_CHECK(nanoseconds_since(start) >= 200'000'000);
  TW_CHECK(driver.asked > 2);  // a busy machine may let it sleep for long
}

TW_TEST(one_of_many_events_is_enough) {
  Using driver;
  const Event events[] = {handle<Event>(1), handle<Event>(2), handle<Event>(3)};
  int64_t word = 5;
  driver.queries = {kNotReady, kNotReady, kNotReady, kNotReady, kSuccess};
  TW_EQUAL(await_any(kDriver, kContext, events, 3, &word, 5, int64_t{1} << 60), kSuccess);
  TW_EQUAL(driver.asked, size_t{5});
  driver.queries = {kNotReady};
  TW_EQUAL(await_any(kDriver, kContext, events, 3, &word, 5, 1000), kNotReady);
  TW_EQUAL(await_any(kDriver, kContext, events, 3, &word, 4, int64_t{1} << 60), kSuccess);
  driver.queries = {719};
  TW_EQUAL(await_any(kDriver, kContext, events, 3, &word, 5, int64_t{1} << 60), 719);
}

TW_TEST(a_word_that_another_thread_changes_ends_the_waiting) {
  Using driver;
  driver.current = kContext;
  driver.queries = {kNotReady};
  alignas(8) int64_t word = 0;
  std::thread other([&word] {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic_ref<int64_t>(word).store(1, std::memory_order_release);
  });
  TW_EQUAL(await_any(kDriver, kContext, nullptr, 0, &word, 0, int64_t{1} << 60), kSuccess);
  other.join();
}

}  // namespace

TW_TEST_MAIN
