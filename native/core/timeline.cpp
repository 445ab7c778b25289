#include "core/timeline.hpp"

#include <algorithm>

namespace tw {

void issue(Timeline& timeline, int64_t number, bool listed) {
  timeline.issued = number;
  ++timeline.unsubmitted;
  int64_t& first = listed ? timeline.first_listed : timeline.first_unlisted;
  if (first == 0) first = number;
  (listed ? timeline.last_listed : timeline.last_unlisted) = number;
}

void pass(Timeline& timeline, int64_t number) {
  // None is under way, or none of these: somebody was told sooner of later work.
  if (timeline.first_unlisted == 0 || timeline.first_unlisted > number) return;
  // What was issued since may be listed, all of it.
  timeline.first_unlisted = number >= timeline.last_unlisted ? 0 : number + 1;
  reap(timeline);
}

int64_t reap(Timeline& timeline) {
  const int64_t behind_all = timeline.issued + 1;
  const auto or_behind_all = [&](int64_t first) { return first == 0 ? behind_all : first; };
  const int64_t first_under_way =
      std::min(or_behind_all(timeline.first_listed), or_behind_all(timeline.first_unlisted));
  timeline.over = first_under_way - 1;
  return timeline.over;
}

bool Waits::contains(const Timeline* timeline) const {
  return std::find(begin(), end(), timeline) != end();
}

bool Waits::add(const Timeline* timeline) {
  if (contains(timeline)) return true;
  if (count_ == kMost) return false;
  timelines_[count_++] = timeline;
  return true;
}

bool is_ordered(const Mark& mark, const Timeline& timeline) {
  if (mark.timeline == nullptr || mark.timeline->over >= mark.number) return true;
  return mark.timeline == &timeline && timeline.unsubmitted == 0;
}

namespace {

bool is_ordered(const Mark& mark, const Timeline& timeline, const Waits& waits) {
  return is_ordered(mark, timeline) || waits.contains(mark.timeline);
}

// Where a read by a timeline can be noted: what was noted there comes before it, with these waits.
// So whoever comes after the read comes after that. Null: nowhere.
Mark* read_place(StorageRecord& storage, const Timeline& timeline, const Waits& waits) {
  Mark* free = nullptr;
  for (Mark& read : storage.reads) {
    if (!is_ordered(read, timeline, waits)) continue;
    if (read.timeline == &timeline) return &read;
    free = &read;
  }
  return free;
}

}  // namespace

bool order_after(const Mark& mark, const Timeline& timeline, Waits& waits) {
  if (is_ordered(mark, timeline)) return true;
  const Timeline& its = *mark.timeline;
  // What is about to be put on its stream cannot be waited for there yet.
  const bool can_wait = &its != &timeline && its.domain != 0 && its.domain == timeline.domain &&
                        its.unsubmitted == 0;
  return can_wait && waits.add(&its);
}

bool order_after_uses(StorageRecord& storage, bool writes, const Timeline& timeline,
                      Waits& waits) {
  if (!order_after(storage.write, timeline, waits)) return false;
  if (writes) {
    return std::ranges::all_of(
        storage.reads, [&](const Mark& read) { return order_after(read, timeline, waits); });
  }
  if (read_place(storage, timeline, waits) != nullptr) return true;
  return std::ranges::any_of(
      storage.reads, [&](const Mark& read) { return order_after(read, timeline, waits); });
}

void note(StorageRecord& storage, bool writes, Timeline& timeline, int64_t number,
          const Waits& waits) {
  const Mark mark{&timeline, number};
  if (writes) {
    storage.write = mark;
    storage.reads = {};  // they come before it: who comes after it need not know of them
  } else if (Mark* place = read_place(storage, timeline, waits); place != nullptr) {
    *place = mark;
  }  // If there is none, the same launch has it: it reads this twice.
}

}  // namespace tw
