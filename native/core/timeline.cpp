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
  // No unlisted work is in flight up to this number: a later completion was reported first.
  if (timeline.first_unlisted == 0 || timeline.first_unlisted > number) return;
  // `number + 1` is a lower bound: the next unlisted number may be greater, since listed work may
  // have been issued in between. That only delays `over`, which is safe.
  timeline.first_unlisted = number >= timeline.last_unlisted ? 0 : number + 1;
  reap(timeline);
}

int64_t reap(Timeline& timeline) {
  // `over` is one less than the first number in flight; 0 means that there is none of a kind.
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

namespace {

bool is_ordered(const Mark& mark, const Timeline& timeline, const Waits& waits) {
  return is_ordered(mark, timeline) || waits.contains(mark.timeline);
}

// Whether a use by a timeline can be noted: there is room for a mark, or one is over, or comes
// before it, with these waits, so that the new one can stand for both.
bool has_place(const StorageRecord& storage, const Timeline& timeline, const Waits& waits) {
  if (storage.marked < kMarks) return true;
  return std::any_of(storage.begin(), storage.end(), [&](const Mark& mark) {
    return is_ordered(mark, timeline, waits);
  });
}

}  // namespace

bool order_after(const Mark& mark, const Timeline& timeline, Waits& waits) {
  if (is_ordered(mark, timeline)) return true;
  const Timeline& its = *mark.timeline;
  // A wait enqueues an event of the other stream; that covers only work already enqueued there, and
  // only within one domain (driver context).
  const bool can_wait = &its != &timeline && its.domain != 0 && its.domain == timeline.domain &&
                        its.unsubmitted == 0;
  return can_wait && waits.add(&its);
}

bool order_after_uses(StorageRecord& storage, const ByteUse& use, const Timeline& timeline,
                      Waits& waits) {
  for (const Mark& mark : storage) {
    if (use.conflicts(mark.use) && !order_after(mark, timeline, waits)) return false;
  }
  if (has_place(storage, timeline, waits)) return true;
  // All marks are taken by work that could run concurrently: order it after one of them, which is
  // more than necessary but keeps the number of marks constant.
  return std::any_of(storage.begin(), storage.end(), [&](const Mark& mark) {
    return order_after(mark, timeline, waits);
  });
}

void note_beside_others(StorageRecord& storage, const ByteUse& use, Timeline& timeline,
                        int64_t number, const Waits& waits) {
  // Who comes after this use comes after what it covers: that need not be known any more.
  const auto is_needless = [&](const Mark& mark) {
    return is_over(mark) || (use.covers(mark.use) && is_ordered(mark, timeline, waits));
  };
  storage.marked = std::remove_if(storage.begin(), storage.end(), is_needless) - storage.begin();
  if (storage.marked < kMarks) {
    storage.marks[storage.marked++] = Mark{&timeline, number, use};
    return;
  }
  const auto place = std::find_if(storage.begin(), storage.end(), [&](const Mark& mark) {
    return is_ordered(mark, timeline, waits);
  });
  if (place == storage.end()) return;  // the same launch has it: it reads this twice
  // Merge with a mark that precedes this work: the union of the bytes is a conservative cover.
  const ByteUse& before = place->use;
  const ByteUse both{std::min(use.start, before.start), std::max(use.end, before.end),
                     use.writes | before.writes};
  *place = Mark{&timeline, number, both};
}

}  // namespace tw
