// Numbers of work: what is over, against a model that remembers every piece of work.
#include "core/timeline.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <random>

#include "tests/check.hpp"

using namespace tw;

namespace {

int64_t issue_next(Timeline& timeline, bool listed) {
  issue(timeline, timeline.issued + 1, listed);
  return timeline.issued;
}

TW_TEST(numbers_are_counted_as_they_are_issued) {
  Timeline timeline{};
  TW_EQUAL(issue_next(timeline, false), 1);
  TW_EQUAL(timeline.last_listed, 0);
  issue_next(timeline, true);
  issue_next(timeline, true);
  issue_next(timeline, false);
  TW_EQUAL(timeline.issued, 4);
  TW_EQUAL(timeline.unsubmitted, 4);
  TW_EQUAL(timeline.first_unlisted, 1);
  TW_EQUAL(timeline.first_listed, 2);
  TW_EQUAL(timeline.last_listed, 3);
  submitted(timeline);
  TW_EQUAL(timeline.unsubmitted, 3);
}

TW_TEST(there_is_room_for_so_many_waits) {
  std::array<Timeline, 40> timelines{};
  Waits waits;
  int room = 0;
  for (const Timeline& each : timelines) room += waits.add(&each) ? 1 : 0;
  TW_EQUAL(room, 32);
  TW_EQUAL(int(std::distance(waits.begin(), waits.end())), 32);
  TW_CHECK(waits.add(&timelines[0]) && waits.contains(&timelines[31]));
  TW_CHECK(!waits.add(&timelines[32]) && !waits.contains(&timelines[32]));
}

TW_TEST(what_is_listed_holds_back_what_is_over) {
  Timeline timeline{};
  for (const bool listed : {false, false, true, false}) issue_next(timeline, listed);
  pass(timeline, 1);
  TW_EQUAL(timeline.over, 1);
  pass(timeline, 4);
  TW_EQUAL(timeline.over, 2);
  timeline.first_listed = 0;
  TW_EQUAL(reap(timeline), 4);
}

TW_TEST(word_of_earlier_work_takes_nothing_back) {
  Timeline timeline{};
  for (int i = 0; i < 5; ++i) issue_next(timeline, false);
  pass(timeline, 5);
  pass(timeline, 3);  // by a thread that was late
  TW_EQUAL(timeline.over, 5);
  issue_next(timeline, true);
  pass(timeline, 5);
  TW_EQUAL(timeline.first_unlisted, 0);
  TW_EQUAL(timeline.over, 5);
}

TW_TEST(what_is_listed_is_not_taken_for_unlisted) {
  Timeline timeline{};
  issue_next(timeline, false);
  issue_next(timeline, true);
  pass(timeline, 1);  // after the next was issued
  timeline.first_listed = 0;
  TW_EQUAL(reap(timeline), 2);
}

// Every piece of work, and whether it is over.
struct Model {
  struct Work {
    bool listed;
    bool over = false;
  };
  std::map<int64_t, Work> all;

  int64_t over() const {
    for (const auto& [number, work] : all) {
      if (!work.over) return number - 1;
    }
    return static_cast<int64_t>(all.size());
  }
  int64_t first_listed() const {
    for (const auto& [number, work] : all) {
      if (work.listed && !work.over) return number;
    }
    return 0;
  }
  int64_t last_unlisted() const {
    int64_t last = 0;
    for (const auto& [number, work] : all) {
      if (!work.listed) last = number;
    }
    return last;
  }
  void pass(int64_t number) {
    for (auto& [its, work] : all) {
      if (its <= number && !work.listed) work.over = true;
    }
  }
};

void end_listed(Timeline& timeline, Model& model, int64_t number) {
  model.all[number].over = true;
  timeline.first_listed = model.first_listed();
  reap(timeline);
}

TW_TEST(what_is_over_is_never_told_too_soon_and_told_at_last) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int64_t limit) {
      return std::uniform_int_distribution<int64_t>(0, limit - 1)(random);
    };
    Timeline timeline{};
    Model model;
    int64_t before = 0;
    for (int step = 0; step < 60; ++step) {
      const int64_t what = below(4);
      if (what < 2) {
        const bool listed = below(2) == 0;
        model.all[issue_next(timeline, listed)] = {listed};
      } else if (what == 2 && timeline.issued > 0) {
        const int64_t number = 1 + below(timeline.issued);
        pass(timeline, number);
        model.pass(number);
      } else if (const int64_t first = model.first_listed(); first != 0) {
        const int64_t number = first + below(timeline.issued - first + 1);
        if (model.all[number].listed) end_listed(timeline, model, number);
      }
      TW_CHECK(timeline.over <= model.over());
      TW_CHECK(timeline.over >= before);
      TW_EQUAL(timeline.first_listed, model.first_listed());
      before = timeline.over;
    }
    pass(timeline, model.last_unlisted());
    model.pass(timeline.issued);
    while (const int64_t first = model.first_listed()) end_listed(timeline, model, first);
    TW_EQUAL(reap(timeline), timeline.issued);
    TW_EQUAL(model.over(), timeline.issued);
  }
}

}  // namespace

TW_TEST_MAIN
