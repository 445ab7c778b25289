#include "cuda/stream.hpp"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <new>

#include "core/clock.hpp"

namespace tw::cuda {

namespace {

// The time since something began to wait.
class Patience {
 public:
  explicit Patience(int64_t budget) : budget_(budget), start_(cpu::now()) {}

  // Waits a little; false: time is up.
  bool rest() const {
    const int64_t waited = cpu::now() - start_;
    if (waited >= budget_) return false;
    waited < kEager ? cpu::relax() : sleep(std::min(waited / 16, kLongestNap));
    return true;
  }

 private:
  static void sleep(int64_t nanoseconds) {
    const timespec time = {.tv_sec = 0, .tv_nsec = static_cast<long>(nanoseconds)};
    nanosleep(&time, nullptr);  // a signal may cut it short
  }

  int64_t budget_;
  int64_t start_;
};

// The first of some events that is passed, or of which the driver says something else; kNotReady:
// there is none.
Status query_events(const Driver& driver, const Event* events, int64_t count) {
  Status status = kNotReady;
  for (int64_t i = 0; i < count && status == kNotReady; ++i) {
    status = driver.cuEventQuery(events[i]);
  }
  return status;
}

// Asks again and again, for as long as the answer is kNotReady and there is time.
template <typename Ask>
Status ask_until_ready(int64_t budget, const Ask& ask) {
  const Patience patience(budget);
  Status status;
  do {
    status = ask();
  } while (status == kNotReady && patience.rest());
  return status;
}

}  // namespace

Parameters::Parameters(int64_t count) : count_(count), words_(inline_) {
  const int64_t words = 2 * count + 1;
  if (words <= kInline) return;
  allocated_.reset(new (std::nothrow) int64_t[static_cast<size_t>(words)]);
  words_ = allocated_.get();
}

void Parameters::fill(const LaunchPlan& plan, const TensorUses& tensors, const int64_t* numbers) {
  const int64_t first = first_parameter(count_);
  std::copy_n(plan.record + first, count_, words_);
  write_parameters(plan, tensors, numbers, words_, first);
  void** const places = addresses();
  for (int64_t i = 0; i < count_; ++i) places[i] = words_ + i;
  places[count_] = nullptr;
}

Status launch(const Driver& driver, const LaunchRecord& record, void** parameters, Stream stream) {
  const auto dim = [](int64_t word) { return static_cast<unsigned>(word); };
  return within(driver, record.context, [&] {
    return driver.cuLaunchKernel(record.function, dim(record.grid[0]), dim(record.grid[1]),
                                 dim(record.grid[2]), dim(record.block[0]), dim(record.block[1]),
                                 dim(record.block[2]), dim(record.shared), stream, parameters,
                                 nullptr);
  });
}

Status launch_graph(const Driver& driver, Context context, GraphExec graph, Stream stream) {
  return within(driver, context, [&] { return driver.cuGraphLaunch(graph, stream); });
}

Status copy_in(const Driver& driver, Context context, int64_t target, int64_t source, int64_t bytes,
               Stream stream) {
  return within(driver, context, [&] {
    return driver.cuMemcpyHtoDAsync(static_cast<uint64_t>(target),
                                    reinterpret_cast<const void*>(source),
                                    static_cast<size_t>(bytes), stream);
  });
}

Status record_event(const Driver& driver, Context context, Event event, Stream stream) {
  return within(driver, context, [&] { return driver.cuEventRecord(event, stream); });
}

Status wait_for(const Driver& driver, Context context, Stream stream, Queue& other) {
  constexpr unsigned kWithoutTiming = 2;  // CU_EVENT_DISABLE_TIMING
  const Status recorded = within(driver, other.context, [&] {
    if (other.event == nullptr) {
      const Status created = driver.cuEventCreate(&other.event, kWithoutTiming);
      if (created != kSuccess) return created;
    }
    return driver.cuEventRecord(other.event, other.stream);
  });
  if (recorded != kSuccess) return recorded;
  return within(driver, context,
                [&] { return driver.cuStreamWaitEvent(stream, other.event, 0); });
}

Status follow(const Driver& driver, Queue& queue, Stream other) {
  if (other == queue.stream) return kSuccess;
  // Whoever waits for our stream records the event anew.
  Queue its{queue.context, other, queue.event};
  const Status status = wait_for(driver, queue.context, queue.stream, its);
  queue.event = its.event;
  return status;
}

void close(const Driver& driver, Queue& queue) {
  if (queue.event == nullptr) return;
  within(driver, queue.context, [&] { return driver.cuEventDestroy(queue.event); });
  queue.event = nullptr;
}

Status drain(const Driver& driver, Context context, Stream stream, int64_t budget) {
  return within(driver, context, [&] {
    return ask_until_ready(budget, [&] { return driver.cuStreamQuery(stream); });
  });
}

Status await_event(const Driver& driver, Context context, Event event, int64_t budget) {
  return within(driver, context, [&] {
    return ask_until_ready(budget, [&] { return driver.cuEventQuery(event); });
  });
}

Status await_any(const Driver& driver, Context context, const Event* events, int64_t count,
                 const int64_t* word, int64_t seen, int64_t budget) {
  // Python's memory, which other threads write with the interpreter's lock; this one has not got
  // it.
  const std::atomic_ref<int64_t> called(*const_cast<int64_t*>(word));
  return within(driver, context, [&] {
    return ask_until_ready(budget, [&] {
      const Status status = query_events(driver, events, count);
      if (status != kNotReady) return status;
      return called.load(std::memory_order_acquire) == seen ? kNotReady : kSuccess;
    });
  });
}

int64_t Submission::encoded() const {
  switch (kind) {
    case Kind::kError:
      return std::numeric_limits<int64_t>::min();
    case Kind::kRefused:
      return -int64_t{status};
    case Kind::kNone:
      return 0;
    case Kind::kDone:
      break;
  }
  return (submitted << kStatusBits) | status;
}

Submission count_submitted(Timeline& timeline, Status status) {
  submitted(timeline);
  if (status != kSuccess) return {.kind = Submission::Kind::kRefused, .status = status};
  ++timeline.submitted;
  return {.kind = Submission::Kind::kDone, .submitted = timeline.submitted};
}

}  // namespace tw::cuda
