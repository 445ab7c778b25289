// Borrows of memory and of parts, against a model that keeps the bytes of each.
#include "core/memory_state.hpp"

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "tests/check.hpp"

using namespace tw;

namespace {

// Bytes as a set; the extents that stand for them may have gaps.
using Bytes = std::set<int64_t>;

struct Part {
  Extent extent{};
  Bytes bytes;
};

bool have_common(const Bytes& one, const Bytes& other) {
  return std::ranges::any_of(one, [&](int64_t byte) { return other.contains(byte); });
}

int asked = 0;

bool meets(const Extent& one, const Extent& other) {
  ++asked;
  const auto bytes_of = [](const Extent& each) { return static_cast<Part*>(each.object)->bytes; };
  return have_common(bytes_of(one), bytes_of(other));
}

constexpr int64_t kSize = 8;

// A borrow as the model knows it.
struct Known {
  Borrow borrow{};
  Known* parent = nullptr;
  Bytes bytes;
  bool is_whole = false;
  bool stands = true;
};

class World {
 public:
  explicit World(unsigned seed) : random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      if (below(6) == 0) {
        drop_one();
      } else {
        use();
      }
      check();
    }
  }

  int ended = 0, dropped = 0;

 private:
  int64_t below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
  }

  static Bytes all() {
    Bytes bytes;
    for (int64_t i = 0; i < kSize; ++i) bytes.insert(i);
    return bytes;
  }

  Part& new_part() {
    Part& part = parts_.emplace_back();
    const int64_t start = below(kSize), step = 1 + below(2);
    for (int64_t i = start, left = 1 + below(4); i < kSize && left > 0; i += step, --left) {
      part.bytes.insert(i);
    }
    const int64_t end = *part.bytes.rbegin() + 1;
    part.extent = {start, end, int64_t(part.bytes.size()) == end - start, &part};
    return part;
  }

  Known* any_standing_writer() {
    std::vector<Known*> found;
    for (const auto& each : known_) {
      if (each->stands && each->borrow.is_exclusive) found.push_back(each.get());
    }
    return found.empty() || below(2) == 0 ? nullptr : found[below(int64_t(found.size()))];
  }

  // Borrows all of the memory or a part, for reading or writing, perhaps out of another borrow.
  void use() {
    auto made = std::make_unique<Known>();
    made->parent = any_standing_writer();
    made->is_whole = below(3) == 0 && (made->parent == nullptr || made->parent->is_whole);
    Borrow& borrow = made->borrow;
    borrow.memory = &state_;
    borrow.is_exclusive = below(2) == 0;
    borrow.parent = made->parent == nullptr ? nullptr : &made->parent->borrow;
    borrow.is_by_epoch = made->is_whole && !borrow.is_exclusive;
    if (!made->is_whole) borrow.extent = &new_part().extent;
    made->bytes = made->is_whole ? all() : static_cast<Part*>(borrow.extent->object)->bytes;
    std::vector<Borrow*> gone;
    const int64_t epoch = state_.record.epoch;
    const bool is_heir = made->is_whole && borrow.is_exclusive;
    end_conflicting(state_, {borrow.extent, borrow.parent, borrow.is_exclusive,
                             is_heir ? &borrow : nullptr},
                    meets, gone);
    TW_EQUAL(state_.record.epoch, epoch + (borrow.is_exclusive ? 1 : 0));
    borrow.epoch = state_.record.epoch;
    ended += int(gone.size());
    TW_CHECK(std::set<Borrow*>(gone.begin(), gone.end()) == end_in_model(*made));
    if (!made->is_whole) {
      (borrow.is_exclusive ? state_.writers : state_.readers).add(borrow);
      state_.note_parts();
    }
    known_.push_back(std::move(made));
  }

  static bool comes_from(const Known& one, const Known& other) {
    for (const Known* each = &one; each != nullptr; each = each->parent) {
      if (each == &other) return true;
    }
    return false;
  }

  // What a use conflicts with ends, but for what it came out of; a shared borrow of all of the
  // memory ends with any write, which is what its epoch says.
  // Returns those that are told of it: of the others their epoch says so.
  std::set<Borrow*> end_in_model(const Known& use) {
    std::set<Borrow*> told;
    for (const auto& each : known_) {
      if (!each->stands) continue;
      const bool writes = use.borrow.is_exclusive;
      if (!writes && !each->borrow.is_exclusive) continue;
      const bool is_spared = each->borrow.is_exclusive && use.parent != nullptr &&
                             comes_from(*use.parent, *each);
      if (is_spared) continue;
      if (!each->is_whole && !have_common(each->bytes, use.bytes)) continue;
      each->stands = false;
      if (!each->borrow.is_by_epoch) told.insert(&each->borrow);
    }
    return told;
  }

  // Of an exclusive borrow of all of it that is not dropped, the one that it came out of goes on.
  void drop_one() {
    std::vector<size_t> free;
    for (size_t i = 0; i < known_.size(); ++i) {
      const Known* one = known_[i].get();
      const bool is_parent = std::ranges::any_of(
          known_, [&](const auto& each) { return each->parent == one; });
      if (!is_parent) free.push_back(i);
    }
    if (free.empty()) return;
    const size_t chosen = free[below(int64_t(free.size()))];
    abandon(known_[chosen]->borrow);
    known_.erase(known_.begin() + int64_t(chosen));
    ++dropped;
  }

  bool stands(const Borrow& borrow) const {
    return borrow.is_by_epoch ? borrow.epoch == state_.record.epoch : !borrow.has_ended;
  }

  void check() const {
    bool writers = false, readers = false;
    for (const auto& each : known_) {
      TW_EQUAL(stands(each->borrow), each->stands);
      if (!each->stands || each->is_whole) continue;
      (each->borrow.is_exclusive ? writers : readers) = true;
    }
    const int64_t reasons = state_.record.slow_path;
    TW_EQUAL((reasons & slow_path::kWriters) != 0, writers);
    TW_EQUAL((reasons & slow_path::kReaders) != 0, readers);
    TW_EQUAL((reasons & slow_path::kExclusive) != 0, state_.exclusive != nullptr);
    TW_EQUAL(state_.record.owner, reinterpret_cast<int64_t>(state_.exclusive));
    if (state_.exclusive != nullptr) TW_CHECK(!state_.exclusive->has_ended);
  }

  std::mt19937 random_;
  MemoryState state_{};
  std::deque<Part> parts_;
  std::vector<std::unique_ptr<Known>> known_;
};

TW_TEST(borrows_end_as_those_of_a_model) {
  int ended = 0, dropped = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    World world(seed);
    world.run(40);
    ended += world.ended;
    dropped += world.dropped;
  }
  TW_CHECK(ended > 20'000);
  TW_CHECK(dropped > 5'000);
  TW_CHECK(asked > 1'000);
  std::printf("       %d ended, %d dropped, %d with gaps\n", ended, dropped, asked);
}

TW_TEST(extents_without_bytes) {
  TW_CHECK((Extent{4, 4, true, nullptr}.is_empty()));
  TW_CHECK((!Extent{4, 5, true, nullptr}.is_empty()));
}

TW_TEST(a_borrow_comes_from_itself_and_those_it_came_out_of) {
  Borrow outer{}, inner{}, other{};
  inner.parent = &outer;
  TW_CHECK(inner.comes_from(inner) && inner.comes_from(outer));
  TW_CHECK(!outer.comes_from(inner) && !inner.comes_from(other));
}

TW_TEST(the_borrow_that_one_came_out_of_stands_again) {
  MemoryState state{};
  Borrow outer{}, inner{};
  std::vector<Borrow*> ended;
  for (Borrow* each : {&outer, &inner}) {
    each->memory = &state;
    each->is_exclusive = true;
  }
  inner.parent = &outer;
  end_conflicting(state, {nullptr, nullptr, true, &outer}, meets, ended);
  end_conflicting(state, {nullptr, &outer, true, &inner}, meets, ended);
  TW_CHECK(ended.empty() && state.exclusive == &inner);
  abandon(inner);
  TW_CHECK(state.exclusive == &outer);
  abandon(outer);
  TW_CHECK(state.exclusive == nullptr && state.record.slow_path == 0);
}

Borrow* ended_meanwhile = nullptr;

// What another thread may do while Python compares two extents.
bool meets_and_ends(const Extent&, const Extent&) {
  if (ended_meanwhile != nullptr) unlist(*ended_meanwhile);
  ended_meanwhile = nullptr;
  return false;
}

TW_TEST(a_borrow_that_ends_while_extents_are_compared) {
  for (int which = 0; which < 3; ++which) {
    MemoryState state{};
    const Extent extent{0, 8, false, nullptr};
    std::vector<Borrow> borrows(3);
    for (Borrow& each : borrows) {
      each.memory = &state;
      each.extent = &extent;
      state.readers.add(each);
    }
    std::vector<Borrow*> ended;
    ended_meanwhile = &borrows[which];
    end_conflicting(state, {&extent, nullptr, true, nullptr}, meets_and_ends, ended);
    TW_CHECK(ended.empty() && ended_meanwhile == nullptr);
    for (int i = 0; i < 3; ++i) TW_CHECK(borrows[i].is_listed() == (i != which));
    for (Borrow& each : borrows) abandon(each);
  }
}

}  // namespace

TW_TEST_MAIN
