// The order of jobs: streams that move, and those who wait for them.
//
// Every move of a stream may end the waits of others, so these are looked at again then.
#include "cpu/stream.hpp"

#include <pthread.h>

#include <algorithm>
#include <new>

#include "cpu/clock.hpp"
#include "cpu/pool.hpp"
#include "cpu/run.hpp"

namespace tw::cpu {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

std::int64_t this_thread() { return (std::int64_t)pthread_self(); }  // a pointer on some systems

// Whether a count reaches a number within a moment.
bool reaches_soon(const std::atomic<std::int64_t>& count, std::int64_t number,
                  std::int64_t budget) {
  const std::int64_t patience = std::min(budget, kSpin);
  const std::int64_t start = now();
  do {
    if (count.load(std::memory_order_acquire) >= number) return true;
    relax();
  } while (now() - start <= patience);
  return false;
}

}  // namespace

// Moves of a stream.

std::int64_t Pool::append(Stream& stream, Job& job) {
  job.lasted.store(0, kRelaxed);
  job.owner.store(0, kRelaxed);
  job.next = nullptr;
  job.counter.store(0, kRelaxed);
  job.shared = 0;
  job.at.store(0, kRelaxed);
  job.begun = 0;
  const std::int64_t number = stream.submitted_.load(kRelaxed) + 1;
  stream.submitted_.store(number, kRelaxed);
  if (stream.tail_ == nullptr) {
    stream.head_.store(&job, kRelaxed);
  } else {
    stream.tail_->next = &job;
  }
  stream.tail_ = &job;
  return number;
}

// Takes the head off a stream.
void Pool::pass_head(Stream& stream) {
  Job* head = stream.head_.load(kRelaxed);
  const bool is_wait = head->awaited != nullptr;
  stream.head_.store(head->next, kRelaxed);
  if (head->next == nullptr) stream.tail_ = nullptr;
  // From here on a job's memory may be gone; waits are our own.
  stream.completed_.store(stream.completed_.load(kRelaxed) + 1, std::memory_order_release);
  changed_ = true;
  if (is_wait) delete head;
  notify(stream);
}

// Finds out what becomes of a stream that is in no list: passes waits that are over, then puts it
// into one. After `stop` all is passed without being run.
void Pool::advance(Stream& stream) {
  while (Job* head = stream.head_.load(kRelaxed)) {
    if (is_stopped()) {
      cancel_entry(*head);
    } else if (head->awaited == nullptr) {
      stream.link_ = nullptr;
      (ready_end_ == nullptr ? ready_ : ready_end_->link_) = &stream;
      ready_end_ = &stream;
      ++ready_count_;
      generation_.fetch_add(1, std::memory_order_release);
      return;
    } else if (head->awaited->load(std::memory_order_acquire) < head->number) {
      stream.link_ = std::exchange(blocked_, &stream);
      return;
    }
    pass_head(stream);
  }
}

void Pool::advance_all(Stream* first) {
  while (first != nullptr) {
    Stream& stream = *std::exchange(first, first->link_);
    advance(stream);
  }
}

// Looks again at the streams that wait, as long as any stream moves.
void Pool::advance_blocked() {
  while (std::exchange(changed_, false) && blocked_ != nullptr) {
    advance_all(std::exchange(blocked_, nullptr));
  }
}

// The head of a stream has been run.
void Pool::finish_head(Stream& stream) {
  pass_head(stream);
  advance(stream);
  advance_blocked();
}

// Wakes so many workers, or all that sleep; how many that are.
std::int64_t Pool::wake(std::int64_t wanted) {
  const std::int64_t count = std::min(sleeping_, wanted);
  for (std::int64_t i = 0; i < count; ++i) work_.notify_one();
  return count;
}

// Wakes a worker for each ready stream that no worker will find by itself.
void Pool::wake_for_ready() { wake(ready_count_ - looking_); }

void Pool::note_unfinished(Job& job, bool is_unfinished) {
  if ((job.owner.load(kRelaxed) != 0) == is_unfinished) return;
  job.owner.store(is_unfinished ? this_thread() : 0, kRelaxed);
  unfinished_.fetch_add(is_unfinished ? 1 : -1, kRelaxed);
}

void Pool::stop() {
  const Lock lock(mutex_);
  stopped_.store(1, kRelaxed);
  advance_all(std::exchange(ready_, nullptr));
  ready_end_ = nullptr;
  ready_count_ = 0;
  advance_all(std::exchange(blocked_, nullptr));
  generation_.fetch_add(1, std::memory_order_release);
  work_.notify_all();
}

// A thread that has let the last job pass may still be at the stream, with the mutex held.
Stream::~Stream() {
  if (pool_->is_lost()) return;
  const Pool::Lock lock(pool_->mutex_);
}

// Adding jobs.

std::int64_t Stream::enqueue(Job& job) {
  if (pool_->is_lost()) return kForked;
  const Pool::Lock lock(pool_->mutex_);
  const bool was_idle = head_.load(kRelaxed) == nullptr;
  const std::int64_t number = pool_->append(*this, job);
  if (was_idle) {
    pool_->advance(*this);
    pool_->advance_blocked();
    pool_->wake_for_ready();
  }
  return number;
}

std::int64_t Stream::enqueue_wait(const std::atomic<std::int64_t>& count, std::int64_t number) {
  if (pool_->is_lost()) return kForked;
  Job* wait = new (std::nothrow) Job{};
  if (wait == nullptr) return 0;
  wait->awaited = &count;
  wait->number = number;
  return enqueue(*wait);
}

Stream::Reservation Stream::reserve_idle() {
  if (pool_->is_lost()) return {};
  Pool::Lock lock(pool_->mutex_);
  if (head_.load(kRelaxed) != nullptr) return {};
  return Reservation(*this, std::move(lock));
}

void Stream::Reservation::occupy(Job& job) {
  stream_->pool_->append(*stream_, job);
  lock_.unlock();
}

RunStatus Stream::run_inline(Job& job, void* scratch, std::int64_t budget) {
  if (pool_->is_lost()) return RunStatus::kForked;
  Reservation reservation = reserve_idle();
  if (!reservation) return RunStatus::kBusy;
  reservation.occupy(job);
  return resume(job, scratch, budget);
}

RunStatus Stream::resume(Job& job, void* scratch, std::int64_t budget) {
  if (!is_first(job)) return RunStatus::kDone;
  const RunStatus status = pool_->run_entry(job, scratch, budget);
  pool_->note_unfinished(job, status == RunStatus::kUnfinished);
  if (status == RunStatus::kDone) {
    const Pool::Lock lock(pool_->mutex_);
    pool_->finish_head(*this);
    pool_->wake_for_ready();
  }
  return status;
}

Job* Stream::unfinished_of_caller() {
  const Pool::Lock lock(pool_->mutex_);
  Job* head = head_.load(kRelaxed);
  return head != nullptr && head->owner.load(kRelaxed) == this_thread() ? head : nullptr;
}

void Stream::cancel_all() {
  const Pool::Lock lock(pool_->mutex_);
  for (Job* job = head_.load(kRelaxed); job != nullptr; job = job->next) cancel(*job);
}

// Waiting for a point of a stream, or for any point that somebody asked about.

// Tells those who wait for the point a stream has reached.
void Pool::notify(Stream& stream) {
  const std::int64_t completed = stream.completed_.load(kRelaxed);
  if (completed >= stream.alarm_) {
    stream.alarm_ = kForever;
    count_alert();
  }
  for (const Waiter* waiter = waiters_; waiter != nullptr; waiter = waiter->next) {
    if (waiter->stream == &stream && completed >= waiter->number) {
      passed_.notify_all();
      return;
    }
  }
}

std::int64_t Stream::wait(std::int64_t number, std::int64_t budget) {
  Pool& pool = *pool_;
  if (pool.is_lost()) return kForked;
  if (reaches_soon(completed_, number, budget)) return 1;
  const auto until = deadline(budget);
  Pool::Lock lock(pool.mutex_);
  Pool::Waiter self{pool.waiters_, this, number};
  pool.waiters_ = &self;
  const bool reached =
      pool.passed_.wait_until(lock, until, [&] { return completed() >= number; });
  Pool::Waiter** place = &pool.waiters_;
  while (*place != &self) place = &(*place)->next;
  *place = self.next;
  return reached;
}

std::int64_t Stream::alert_at(std::int64_t number) {
  if (pool_->is_lost()) return kForked;
  const Pool::Lock lock(pool_->mutex_);
  alarm_ = std::min(alarm_, number);
  pool_->notify(*this);
  return 0;
}

void Pool::count_alert() {
  ++alerts_;
  if (listeners_ != 0) alerted_.notify_all();
}

std::int64_t Pool::alert() {
  if (is_lost()) return kForked;
  const Lock lock(mutex_);
  count_alert();
  return 0;
}

std::int64_t Pool::wait_for_alert(std::int64_t seen, std::int64_t budget) {
  if (is_lost()) return kForked;
  const auto until = deadline(budget);
  Lock lock(mutex_);
  ++listeners_;
  alerted_.wait_until(lock, until, [&] { return alerts_ != seen; });
  --listeners_;
  return alerts_;
}

}  // namespace tw::cpu
