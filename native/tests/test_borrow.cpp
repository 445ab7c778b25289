// Borrows and the order of work, against a model that remembers every piece of work.
#include "core/borrow.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include "tests/borrow_support.hpp"
#include "tests/check.hpp"

using namespace tw;

namespace {

int64_t reserve_one(Memory& memory, bool writes, Timeline& timeline, int64_t how = kListed) {
  return reserve(Row({&memory}, writes).uses, timeline, how);
}

bool may(const TensorUses& uses, int64_t i) { return may_borrow(uses, i) == Borrowable::kYes; }

struct Reason {
  int64_t bit;
  bool may_read, may_write;            // whether it may be borrowed,
  int64_t read, write;                 // what `reserve` gives, listed or not,
  int64_t read_again, write_again;     // and `reborrow`
};

constexpr int64_t kNo = kSlowPath;
constexpr Reason kReasons[] = {
    {0, true, true, 1, 1, 1, 1},
    {slow_path::kExclusive, false, true, kNo, 1, kNo, kNo},
    {slow_path::kWriters, false, false, kNo, kNo, kNo, kNo},
    {slow_path::kNeighbours, false, false, kNo, kNo, kNo, kNo},
    {slow_path::kLeases, true, true, 1, kNo, 1, kNo},
    {slow_path::kLeases | slow_path::kWriteLeases, true, true, kNo, kNo, kNo, kNo},
    {slow_path::kUnwritten, true, true, kNo, 1, kNo, kNo},
    {slow_path::kNoMemory, true, true, kNo, kNo, kNo, kNo},
    {slow_path::kPendingWork, true, true, kPendingWork, kPendingWork, kPendingWork, kPendingWork},
    {slow_path::kReaders, true, false, 1, 1, 1, kNo},
};

TW_TEST(reasons_for_a_closer_look) {
  for (const Reason& reason : kReasons) {
    for (const bool writes : {false, true}) {
      const auto fresh = [] { return Timeline{}; };
      Memory plain, memory(reason.bit);
      const std::vector<Memory*> both = {&plain, &memory};
      const Row row(both, writes ? 2 : 0);
      TW_EQUAL(may(row.uses, 1), writes ? reason.may_write : reason.may_read);
      Timeline timeline = fresh();
      TW_EQUAL(reserve(row.uses, timeline, kListed), writes ? reason.write : reason.read);
    }
    Timeline one{}, two{}, three{};
    Memory unlisted(reason.bit), read(reason.bit), written(reason.bit);
    TW_EQUAL(reserve_one(unlisted, true, one, 0), reason.write);
    TW_EQUAL(reborrow(Row({&read}, 0).uses, two), reason.read_again);
    TW_EQUAL(reborrow(Row({&written}, 1).uses, three), reason.write_again);
    TW_EQUAL(written.storage.epoch, reason.write_again > 0 ? 4 : 3);
    TW_EQUAL(read.storage.epoch, 3);
  }
}

TW_TEST(what_somebody_has_examined_is_no_reason) {
  using namespace slow_path;
  for (const int64_t reason : {kNeighbours, kLeases, kWriteLeases, kUnwritten, kWriters, kReaders,
                               kExclusive, slow_path::kPendingWork, kNoMemory}) {
    for (const bool writes : {false, true}) {
      Memory memory(reason, 3, writes ? 9 : 0);
      Row row({&memory}, writes, 9);
      Timeline timeline = busy();
      Waits waits;
      const bool may = reason != kNoMemory;
      TW_EQUAL(judge(row.uses, timeline, kExamined | kFollowing, waits) == 0, may);
      ++row.uses.epoch(0);
      TW_EQUAL(judge(row.uses, timeline, kExamined | kFollowing, waits), kSlowPath);
    }
  }
  Memory pending(slow_path::kPendingWork);
  Row row({&pending}, 0);
  Timeline timeline = busy();
  Waits waits;
  TW_EQUAL(judge(row.uses, timeline, kExamined, waits), tw::kPendingWork);
}

TW_TEST(what_is_borrowed_whole_is_written_whole) {
  Memory whole(slow_path::kUnwritten), part(slow_path::kUnwritten);
  Row row({&whole, &part}, 2);
  row.uses.epoch(1) = kByTicket;
  mark_written(row.uses);
  TW_EQUAL(whole.storage.slow_path, 0);
  TW_EQUAL(part.storage.slow_path, slow_path::kUnwritten);
}

TW_TEST(raw_pointers_borrow_nothing_and_are_ordered_as_writers) {
  using namespace slow_path;
  for (const int64_t reason : {int64_t{0}, kExclusive, kWriters, kReaders, kLeases, kWriteLeases,
                               kUnwritten, kNeighbours, kNoMemory}) {
    Memory memory(reason, 3, 9);
    Row row({&memory}, 1, 0);
    row.uses.epoch(0) = kByPointer;
    Timeline other = busy(), timeline{};
    other.domain = timeline.domain = 1;
    memory.note_work(other, other.issued, false);
    Waits waits;
    const bool may = reason != kNeighbours && reason != kNoMemory;
    TW_EQUAL(judge(row.uses, timeline, 0, waits), may ? 0 : kSlowPath);
    TW_EQUAL(waits.contains(&other), may);
    Waits again;
    TW_EQUAL(judge(row.uses, timeline, kExamined, again), reason == kNoMemory ? kSlowPath : 0);
    if (!may) continue;
    begin(row.uses, timeline, 0, waits);
    submitted(timeline);
    mark_written(row.uses);
    TW_EQUAL(memory.storage.slow_path, reason & ~kUnwritten);
    TW_EQUAL(memory.storage.epoch, 3);
    TW_EQUAL(memory.storage.owner, 9);
    Waits reader;
    memory.storage.slow_path = 0;
    TW_EQUAL(judge(Row({&memory}, 0).uses, other, 0, reader), 0);
    TW_CHECK(reader.contains(&timeline));
  }
}

TW_TEST(borrows_that_take_a_search) {
  using namespace slow_path;
  for (const int64_t reason : {kNeighbours, kWriters}) {
    TW_EQUAL(needs_search(Memory(reason).storage, true), true);
    TW_EQUAL(needs_search(Memory(reason).storage, false), true);
  }
  TW_EQUAL(needs_search(Memory(kReaders).storage, true), true);
  TW_EQUAL(needs_search(Memory(kReaders).storage, false), false);
  TW_EQUAL(needs_search(Memory(kExclusive | kLeases | kUnwritten).storage, true), false);
}

TW_TEST(work_that_follows_what_is_listed) {
  for (const int64_t how : {kFollowing, kFollowing | kListed}) {
    Memory memory(slow_path::kPendingWork);
    Timeline timeline{};
    TW_EQUAL(reserve_one(memory, true, timeline, how), 1);
    TW_EQUAL(memory.storage.slow_path, slow_path::kPendingWork);
    TW_EQUAL(timeline.first_listed, how & kListed ? 1 : 0);
    Memory leased(slow_path::kPendingWork | slow_path::kLeases);
    TW_EQUAL(reserve_one(leased, true, timeline, how), kSlowPath);
  }
}

TW_TEST(borrows_end_with_their_epoch_and_their_owner) {
  for (const bool writes : {false, true}) {
    Memory memory;
    Timeline timeline{};
    const Row row({&memory}, writes);
    ++memory.storage.epoch;
    TW_EQUAL(reserve(row.uses, timeline), kSlowPath);
  }
  Memory memory(0, 3, 5);
  Timeline timeline{};
  TW_EQUAL(reserve(Row({&memory}, 1, 6).uses, timeline), kSlowPath);
  TW_CHECK(!may(Row({&memory}, 1, 6).uses, 0));
  TW_EQUAL(reserve(Row({&memory}, 1, 5).uses, timeline), 1);
  TW_CHECK(may(Row({&memory}, 1, 5).uses, 0));
}

TW_TEST(memory_is_written_by_one_argument_alone) {
  Memory one, other;
  TW_CHECK(may(Row({&one, &other}, 2).uses, 1));
  TW_CHECK(!may(Row({&one, &one}, 2).uses, 1));
  TW_CHECK(may(Row({&one, &one}, 1).uses, 1));
}

TW_TEST(new_epochs_of_what_is_written) {
  Memory written(0, 4), read(0, 7);
  const Row row({&written, &read}, 1);
  begin_epochs(row.uses);
  TW_EQUAL(written.storage.epoch, 5);
  TW_EQUAL(row.uses.epoch(0), 5);
  TW_EQUAL(read.storage.epoch, 7);
}

TW_TEST(a_refused_reborrow_changes_nothing) {
  Memory written, busy_memory;
  Timeline other = busy(), mine{};
  busy_memory.note_work(other, 5, true);
  TW_EQUAL(reborrow(Row({&written, &busy_memory}, 1).uses, mine), kSlowPath);
  TW_EQUAL(written.storage.epoch, 3);
  TW_EQUAL(mine.issued, 0);
  other.over = 5;
  Row row({&written, &busy_memory}, 1);
  busy_memory.storage.epoch = 9;  // what is read again need not be of the same epoch
  TW_EQUAL(reborrow(row.uses, mine), 1);
  TW_EQUAL(written.storage.epoch, 4);
  TW_EQUAL(row.uses.epoch(0), 4);
  TW_EQUAL(row.uses.epoch(1), 9);
}

TW_TEST(work_is_noted_with_its_memory) {
  Timeline timeline = busy();
  Memory written, read;
  TW_EQUAL(reserve(Row({&written, &read}, 1).uses, timeline), 6);
  TW_EQUAL(timeline.unsubmitted, 1);
  for (const Memory* each : {&written, &read}) {
    const Mark& mark = each->storage.marks[0];
    TW_CHECK(mark.timeline == &timeline && mark.number == 6 && mark.use.end == 4096);
    TW_EQUAL(mark.use.writes != 0, each == &written);
    TW_EQUAL(each->storage.marked, 1);
  }
}

TW_TEST(a_refused_launch_leaves_no_trace) {
  Timeline timeline = busy();
  Memory good, bad(slow_path::kWriteLeases);
  TW_EQUAL(reserve(Row({&good, &bad}, 1).uses, timeline), kSlowPath);
  TW_EQUAL(good.storage.marked, 0);
  TW_EQUAL(timeline.issued, 5);
  TW_EQUAL(timeline.unsubmitted, 0);
}

TW_TEST(who_waits_for_whom) {
  for (const bool wrote : {false, true}) {
    for (const bool writes : {false, true}) {
      for (const bool own : {false, true}) {
        for (const bool settled : {false, true}) {  // submitted, or over
          Timeline mine = busy(0, own && !settled ? 1 : 0);
          Timeline others = busy(settled ? 5 : 0);
          Memory memory;
          memory.note_work(own ? mine : others, 5, wrote);
          const bool waits = !settled && (wrote || writes);
          TW_EQUAL(reserve_one(memory, writes, mine), waits ? kSlowPath : 6);
        }
      }
    }
  }
}

TW_TEST(several_streams_read_at_once) {
  std::array<Timeline, kMarks + 1> timelines;
  timelines.fill(busy());
  Memory memory;
  for (int i = 0; i < kMarks; ++i) TW_EQUAL(reserve_one(memory, false, timelines[i]), 6);
  TW_EQUAL(reserve_one(memory, false, timelines[kMarks]), kSlowPath);
  for (int i = 0; i < kMarks; ++i) {
    timelines[i].unsubmitted = 0;
    TW_EQUAL(reserve_one(memory, false, timelines[i]), 7);
  }
  TW_EQUAL(reserve_one(memory, true, timelines[0]), kSlowPath);
}

TW_TEST(what_a_launch_reads_twice_needs_one_place) {
  Memory memory;
  std::array<Timeline, kMarks> others;
  others.fill(busy());
  for (int i = 0; i < kMarks - 1; ++i) memory.note_work(others[i], 5, false);
  Timeline mine = busy(0, 1), late = busy();
  TW_EQUAL(reserve(Row({&memory, &memory}, 0).uses, mine), 6);
  TW_EQUAL(reserve_one(memory, false, late), kSlowPath);
}

TW_TEST(parameters_go_to_their_places) {
  Memory one, other;
  one.tensor.address = 100;
  other.tensor.address = 200;
  const Row row({&one, &other}, 1);
  const int64_t places[] = {4, 1};
  std::array<int64_t, 6> slots{};
  write_addresses(row.uses, places, slots.data());
  TW_CHECK((slots == std::array<int64_t, 6>{0, 200, 0, 0, 100, 0}));
  const int64_t tensor_places[] = {12, 10}, number_places[] = {13}, numbers[] = {-5};
  LaunchPlan plan{};
  plan.tensors = 2;
  plan.tensor_places = tensor_places;
  plan.numbers = 1;
  plan.number_places = number_places;
  std::array<int64_t, 4> parameters{};
  write_parameters(plan, row.uses, numbers, parameters.data(), 10);
  TW_CHECK((parameters == std::array<int64_t, 4>{200, 0, 100, -5}));
}

TW_TEST(a_read_ends_an_exclusive_borrow_but_not_that_of_its_own_launch) {
  Memory memory(slow_path::kExclusive), other;
  TW_CHECK(may_borrow(Row({&other, &memory}, 1).uses, 1) == Borrowable::kOnceExclusiveEnds);
  TW_CHECK(may_borrow(Row({&memory, &memory}, 1).uses, 1) == Borrowable::kNo);
  Memory unclear(slow_path::kExclusive | slow_path::kWriters);
  TW_CHECK(may_borrow(Row({&other, &unclear}, 1).uses, 1) == Borrowable::kNo);
}

// All work there ever was over a few pieces of memory, on a few streams.
class World {
 public:
  explicit World(unsigned seed) : random_(seed) {
    for (int i = 0; i < kMemories; ++i) memories_.emplace_back();
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      switch (below(8)) {
        case 0:
        case 1:
          submit_one();
          break;
        case 2:
          pass_some();
          break;
        default:
          launch();
      }
    }
  }

  int accepted = 0, refused = 0, crowded = 0;

 private:
  static constexpr int kMemories = 3, kStreams = 12;
  struct Work {
    Timeline* timeline;
    int64_t number;
    Memory* memory;
    bool writes;
  };

  int64_t below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
  }

  Timeline& any_timeline() { return timelines_[below(kStreams)]; }

  void submit_one() {
    Timeline& timeline = any_timeline();
    if (timeline.unsubmitted > 0) submitted(timeline);
  }

  void pass_some() {
    Timeline& timeline = any_timeline();
    const int64_t put = timeline.issued - timeline.unsubmitted;
    if (put > timeline.over) pass(timeline, timeline.over + 1 + below(put - timeline.over));
  }

  // Whether work of a timeline must wait for other work, so that it cannot just begin.
  static bool waits(const Work& work, const Timeline& timeline) {
    if (work.number <= work.timeline->over) return false;
    return work.timeline != &timeline || timeline.unsubmitted > 0;
  }

  bool conflicts(Memory* memory, bool writes, const Timeline& timeline) const {
    return std::ranges::any_of(all_, [&](const Work& work) {
      return work.memory == memory && (work.writes || writes) && waits(work, timeline);
    });
  }

  // Reads that must not be forgotten, as a writer may have to wait for them.
  std::vector<const Work*> open_reads(Memory* memory, const Timeline& timeline) const {
    std::vector<const Work*> found;
    for (const Work& work : all_) {
      if (work.memory == memory && !work.writes && waits(work, timeline)) found.push_back(&work);
    }
    return found;
  }

  void launch() {
    Timeline& timeline = any_timeline();
    std::vector<Memory*> used;
    for (int64_t left = 1 + below(kMemories); left > 0; --left) {
      Memory* each = &memories_[below(kMemories)];
      if (std::ranges::find(used, each) == used.end()) used.push_back(each);
    }
    const int64_t written = below(3) == 0 ? 1 : 0;
    bool must_refuse = false, may_refuse = false;
    for (size_t i = 0; i < used.size(); ++i) {
      const bool writes = int64_t(i) < written;
      must_refuse |= conflicts(used[i], writes, timeline);
      if (writes) continue;
      const auto open = open_reads(used[i], timeline);
      std::set<const Timeline*> readers;
      for (const Work* work : open) readers.insert(work->timeline);
      must_refuse |= readers.size() >= kMarks;
      may_refuse |= open.size() >= kMarks;
    }
    const Row row(used, written);
    const int64_t number = reserve(row.uses, timeline);
    (number > 0 ? accepted : refused) += 1;
    if (may_refuse && !must_refuse) ++crowded;
    if (must_refuse) TW_EQUAL(number, kSlowPath);
    if (!must_refuse && !may_refuse) TW_EQUAL(number, timeline.issued);
    if (number < 0) return;
    TW_CHECK(number == timeline.issued);
    for (size_t i = 0; i < used.size(); ++i) {
      all_.push_back({&timeline, number, used[i], int64_t(i) < written});
    }
  }

  std::mt19937 random_;
  std::deque<Memory> memories_;
  std::array<Timeline, kStreams> timelines_{};
  std::vector<Work> all_;
};

TW_TEST(order_of_work_is_that_of_a_model_that_forgets_nothing) {
  int accepted = 0, refused = 0, crowded = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    World world(seed);
    world.run(80);
    accepted += world.accepted;
    refused += world.refused;
    crowded += world.crowded;
  }
  // What is drawn must be worth it.
  TW_CHECK(accepted > 20'000);
  TW_CHECK(refused > 20'000);
  TW_CHECK(crowded > 0);
  std::printf("       %d begun, %d refused, %d with many reads\n", accepted, refused, crowded);
}

// Streams that wait for each other, and a vector clock for each: the last work of every stream that
// comes before what is put there next.
class WaitingWorld {
 public:
  // `parted`: work uses parts of memory.
  WaitingWorld(unsigned seed, bool parted) : random_(seed), parted_(parted) {
    for (int i = 0; i < kMemories; ++i) memories_.emplace_back();
    for (Timeline& each : timelines_) each.domain = 1;
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      const int64_t drawn = below(10);
      if (drawn < 5) {
        submit_one();
      } else if (drawn == 5) {
        pass_some();
      } else {
        launch();
      }
    }
  }

  int begun = 0, waited = 0, refused = 0;

 private:
  static constexpr int kMemories = 3, kStreams = 7;
  using Clock = std::array<int64_t, kStreams>;
  struct Work {
    int64_t stream;
    int64_t number;
    Memory* memory;
    ByteUse use;
  };

  int64_t below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
  }

  void submit_one() {
    for (Timeline& each : timelines_) {
      if (each.unsubmitted > 0 && below(2) == 0) submitted(each);
    }
  }

  // Streams pass work in order, and what it waits for before it.
  void pass_some() {
    const int64_t stream = below(kStreams);
    Timeline& timeline = timelines_[stream];
    if (timeline.unsubmitted > 0) return;
    for (int64_t i = 0; i < kStreams; ++i) {
      if (clocks_[stream][i] > 0) pass(timelines_[i], clocks_[stream][i]);
    }
  }

  void launch() {
    const int64_t stream = below(kStreams);
    Timeline& timeline = timelines_[stream];
    std::vector<Memory*> used;
    for (int64_t left = 1 + below(kMemories); left > 0; --left) {
      Memory* each = &memories_[below(kMemories)];
      if (std::ranges::find(used, each) == used.end()) used.push_back(each);
    }
    const int64_t written = below(3) == 0 ? 1 : 0;
    std::deque<TensorRecord> parts;
    Row row(used, written);
    for (size_t i = 0; i < used.size(); ++i) {
      const int64_t first = parted_ ? below(4) : 0;
      parts.push_back(used[i]->part(first, parted_ ? 1 + below(4 - first) : 4));
      row.uses.set_tensor(int64_t(i), &parts.back());
    }
    Waits waits;
    const int64_t number = reserve(row.uses, timeline, waits);
    if (number < 0) {
      TW_CHECK(waits.empty());
      ++refused;
      return;
    }
    ++begun;
    waited += waits.empty() ? 0 : 1;
    Clock& mine = clocks_[stream];
    for (const Timeline* other : waits) {
      TW_EQUAL(other->unsubmitted, 0);
      const Clock& its = clocks_[other - timelines_.data()];
      for (int64_t i = 0; i < kStreams; ++i) mine[i] = std::max(mine[i], its[i]);
    }
    for (size_t i = 0; i < used.size(); ++i) check(used[i], row.uses.bytes(int64_t(i)), mine);
    mine[stream] = number;
    for (size_t i = 0; i < used.size(); ++i) {
      all_.push_back({stream, number, used[i], row.uses.bytes(int64_t(i))});
    }
  }

  void check(Memory* memory, const ByteUse& use, const Clock& mine) const {
    for (const Work& work : all_) {
      if (work.memory != memory || !work.use.conflicts(use)) continue;
      TW_CHECK(work.number <= timelines_[work.stream].over || work.number <= mine[work.stream]);
    }
  }

  std::mt19937 random_;
  const bool parted_;
  std::deque<Memory> memories_;
  std::array<Timeline, kStreams> timelines_{};
  std::array<Clock, kStreams> clocks_{};
  std::vector<Work> all_;
};

TW_TEST(work_happens_after_all_it_conflicts_with) {
  for (const bool parted : {false, true}) {
    int begun = 0, waited = 0, refused = 0;
    for (unsigned seed = 0; seed < 3000; ++seed) {
      WaitingWorld world(seed, parted);
      world.run(80);
      begun += world.begun;
      waited += world.waited;
      refused += world.refused;
    }
    TW_CHECK(begun > 20'000);
    TW_CHECK(waited > (parted ? 5'000 : 10'000));
    std::printf("       %d begun, %d of them waited, %d refused\n", begun, waited, refused);
  }
}

TW_TEST(work_over_other_bytes_does_not_wait) {
  Memory memory;
  const TensorRecord left = memory.part(0, 2), right = memory.part(2, 2), all = memory.part(0, 4);
  Timeline one{}, other{}, third{};
  for (Timeline* each : {&one, &other, &third}) each->domain = 1;
  const auto begin = [&](const TensorRecord& part, Timeline& timeline) {
    Row row({&memory}, 1);
    row.uses.set_tensor(0, &part);
    Waits waits;
    TW_EQUAL(reserve(row.uses, timeline, waits), timeline.issued);
    submitted(timeline);
    return int(std::distance(waits.begin(), waits.end()));
  };
  TW_EQUAL(begin(left, one), 0);
  TW_EQUAL(begin(right, other), 0);
  TW_EQUAL(begin(all, third), 2);
  TW_EQUAL(begin(left, one), 1);
  TW_EQUAL(begin(right, one), 1);
  TW_EQUAL(begin(all, one), 1);  // no single use covers that of the third stream
  TW_EQUAL(begin(all, one), 0);
}

}  // namespace

TW_TEST_MAIN
