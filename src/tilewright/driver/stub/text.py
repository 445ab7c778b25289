"""LLVM text of the launch stub: all tensors of a launch, looked at in one call.

    object tw_bind(call, arguments, use)        borrow the tensors that a kernel was given
    i64 tw_reserve(row, written, count, lane, how)  begin work whose borrows still stand
    i64 tw_claim(row, written, count, lane)     borrow what a graph uses again, and begin its work
    i64 tw_put(lane), tw_settle(lane), tw_pass(lane, number)    see `lanes`

A row is numbers about the tensors of a launch, first those it writes, then those it reads: the
addresses of their records, the epochs in which they were borrowed, and the exclusive borrows of
those it writes. Whoever calls holds the lock of borrow state, so nothing changes meanwhile. Where
Python must look closer the answer is None or below 0, and nothing has been changed.
"""

from __future__ import annotations

from .binding import BIND
from .lanes import LANES
from .locking import LOCKING
from .python import PYTHON
from .records import RECORDS, UNCLEAR
from .shapes import counted
from .spots import SPOTS
from .uses import FIRST_USE, NOTE_FIRST, USES
from .words import (
    ACCOUNT,
    ALL,
    CLOSER,
    FOLLOWING,
    LISTED,
    READERS,
    LaneWord,
    Look,
    StorageWord,
    TensorWord,
)

FRESH = Look.UNWRITTEN
"""Why work that is not listed cannot write: should it be refused, nothing was written."""
UNWRITABLE = UNCLEAR | Look.LEASES | Look.META
UNREADABLE = ALL & ~(Look.FLIGHTS | Look.READERS)
UNCLAIMED = UNWRITABLE | Look.EXCLUSIVE | Look.READERS
"""Why memory cannot be borrowed again without a search for whom that concerns."""

CLAIM = f"""
; Moves the epochs of what is written on, where nobody else has borrowed it, and begins work.
define i64 @tw_claim(ptr %row, i64 %written, i64 %count, ptr %lane) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %each ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %take
each:
  %storage = call ptr @storage(ptr %row, i64 %i)
  %look = call i64 @word(ptr %storage, i64 {StorageWord.LOOK.value})
  %its_writing = icmp slt i64 %i, %written
  %bits = select i1 %its_writing, i64 {int(UNCLAIMED)}, i64 {int(UNREADABLE)}
  %seen = and i64 %look, %bits
  %plain = icmp eq i64 %seen, 0
  %next = add i64 %i, 1
  br i1 %plain, label %head, label %closer
take:
  %k = phi i64 [ 0, %head ], [ %following, %one ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %one, label %done
one:
  %memory = call ptr @storage(ptr %row, i64 %k)
  %writes = icmp slt i64 %k, %written
  %step = zext i1 %writes to i64
  %before = call i64 @word(ptr %memory, i64 {StorageWord.EPOCH.value})
  %epoch = add i64 %before, %step
  call void @set(ptr %memory, i64 {StorageWord.EPOCH.value}, i64 %epoch)
  %at = add i64 %count, %k
  call void @set(ptr %row, i64 %at, i64 %epoch)
  %following = add i64 %k, 1
  br label %take
done:
  %number = call i64 @tw_reserve(ptr %row, i64 %written, i64 %count, ptr %lane, i64 0)
  ret i64 %number
closer:
  ret i64 {CLOSER}
}}
"""

FREE = f"""
; Whether work of a lane needs to wait for what was noted: a lane, and its number there.
define internal i1 @clear(ptr %noted, ptr %lane) alwaysinline {{
entry:
  %its = load ptr, ptr %noted
  %none = icmp eq ptr %its, null
  br i1 %none, label %yes, label %some
some:
  %number = call i64 @word(ptr %noted, i64 1)
  %over = call i64 @word(ptr %its, i64 {LaneWord.OVER.value})
  %passed = icmp sge i64 %over, %number
  br i1 %passed, label %yes, label %ahead
ahead:
  %same = icmp eq ptr %its, %lane
  %unput = call i64 @word(ptr %lane, i64 {LaneWord.UNPUT.value})
  %all_put = icmp eq i64 %unput, 0
  %behind = and i1 %same, %all_put
  ret i1 %behind
yes:
  ret i1 true
}}

; Whether it needs to wait for any reader.
define internal i1 @unread(ptr %storage, ptr %lane) alwaysinline {{
entry:
  %first = getelementptr i64, ptr %storage, i64 {StorageWord.READ.value}
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %each ]
  %more = icmp slt i64 %i, {READERS}
  br i1 %more, label %each, label %yes
each:
  %offset = mul i64 %i, 2
  %noted = getelementptr i64, ptr %first, i64 %offset
  %clear = call i1 @clear(ptr %noted, ptr %lane)
  %next = add i64 %i, 1
  br i1 %clear, label %head, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; Where a read of a lane can be noted; null: nowhere.
define internal ptr @reading(ptr %storage, ptr %lane) alwaysinline {{
entry:
  %first = getelementptr i64, ptr %storage, i64 {StorageWord.READ.value}
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %pass ]
  %found = phi ptr [ null, %entry ], [ %best, %pass ]
  %more = icmp slt i64 %i, {READERS}
  br i1 %more, label %each, label %done
each:
  %offset = mul i64 %i, 2
  %noted = getelementptr i64, ptr %first, i64 %offset
  %its = load ptr, ptr %noted
  %same = icmp eq ptr %its, %lane
  %clear = call i1 @clear(ptr %noted, ptr %lane)
  %mine = and i1 %same, %clear
  br i1 %mine, label %own, label %pass
own:
  ret ptr %noted
pass:
  %best = select i1 %clear, ptr %noted, ptr %found
  %next = add i64 %i, 1
  br label %head
done:
  ret ptr %found
}}
"""

RESERVE = f"""
; Whether the borrow of a tensor stands, and its memory can be used for that.
define internal i1 @stands(
    ptr %row, i64 %i, i64 %written, i64 %count, i64 %unwritable) alwaysinline {{
entry:
  %storage = call ptr @storage(ptr %row, i64 %i)
  %writes = icmp slt i64 %i, %written
  %look = call i64 @word(ptr %storage, i64 {StorageWord.LOOK.value})
  %bits = select i1 %writes, i64 %unwritable, i64 {int(UNREADABLE)}
  %seen = and i64 %look, %bits
  %usable = icmp eq i64 %seen, 0
  %epoch_at = add i64 %count, %i
  %epoch = call i64 @word(ptr %row, i64 %epoch_at)
  %now = call i64 @word(ptr %storage, i64 {StorageWord.EPOCH.value})
  %unchanged = icmp eq i64 %now, %epoch
  %may = and i1 %usable, %unchanged
  br i1 %writes, label %owned, label %out
owned:
  %owner_at = add i64 %epoch_at, %count
  %owner = call i64 @word(ptr %row, i64 %owner_at)
  %its = call i64 @word(ptr %storage, i64 {StorageWord.OWNER.value})
  %mine = icmp eq i64 %its, %owner
  %both = and i1 %may, %mine
  br label %out
out:
  %answer = phi i1 [ %may, %entry ], [ %both, %owned ]
  ret i1 %answer
}}

; Whether memory can be used as it stands, by work of a lane.
define internal i64 @ready(ptr %storage, i1 %writes, ptr %lane, i1 %follows) alwaysinline {{
entry:
  %look = call i64 @word(ptr %storage, i64 {StorageWord.LOOK.value})
  %noted = getelementptr i64, ptr %storage, i64 {StorageWord.WRITE.value}
  br label %account
account:
  %kept = and i64 %look, {int(Look.FLIGHTS)}
  %none = icmp eq i64 %kept, 0
  %settled = or i1 %none, %follows
  br i1 %settled, label %written, label %ask
ask:
  ret i64 {ACCOUNT}
written:
  %clear = call i1 @clear(ptr %noted, ptr %lane)
  br i1 %clear, label %read, label %closer
read:
  br i1 %writes, label %alone, label %beside
alone:
  %unread = call i1 @unread(ptr %storage, ptr %lane)
  br i1 %unread, label %yes, label %closer
beside:
  %place = call ptr @reading(ptr %storage, ptr %lane)
  %full = icmp eq ptr %place, null
  br i1 %full, label %closer, label %yes
yes:
  ret i64 0
closer:
  ret i64 {CLOSER}
}}

; Note work of a lane over a piece of memory.
define internal void @note(ptr %storage, i1 %writes, ptr %lane, i64 %number) alwaysinline {{
entry:
  br i1 %writes, label %write, label %read
write:
  %last = getelementptr i64, ptr %storage, i64 {StorageWord.WRITE.value}
  br label %do
read:
  %free = call ptr @reading(ptr %storage, ptr %lane)
  ; There was a place for it. If there is none, the same launch has it: it reads this twice.
  %noted_already = icmp eq ptr %free, null
  br i1 %noted_already, label %out, label %do
do:
  %noted = phi ptr [ %last, %write ], [ %free, %read ]
  store ptr %lane, ptr %noted
  call void @set(ptr %noted, i64 1, i64 %number)
  br label %out
out:
  ret void
}}

; Gives the number of the work in its lane.
define i64 @tw_reserve(ptr %row, i64 %written, i64 %count, ptr %lane, i64 %how) {{
entry:
  %listed = and i64 %how, {LISTED}
  %unlisted = icmp eq i64 %listed, 0
  %behind_all = and i64 %how, {FOLLOWING}
  %follows = icmp ne i64 %behind_all, 0
  %bits = select i1 %unlisted, i64 {int(UNWRITABLE | FRESH)}, i64 {int(UNWRITABLE)}
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %pass ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %begin
each:
  %stands = call i1 @stands(ptr %row, i64 %i, i64 %written, i64 %count, i64 %bits)
  br i1 %stands, label %look, label %ended
ended:
  ret i64 {CLOSER}
look:
  %storage = call ptr @storage(ptr %row, i64 %i)
  %writes = icmp slt i64 %i, %written
  %answer = call i64 @ready(ptr %storage, i1 %writes, ptr %lane, i1 %follows)
  %plain = icmp eq i64 %answer, 0
  br i1 %plain, label %pass, label %closer
pass:
  %next = add i64 %i, 1
  br label %head
closer:
  ret i64 %answer
begin:
  %issued = call i64 @word(ptr %lane, i64 {LaneWord.ISSUED.value})
  %number = add i64 %issued, 1
  br label %marks
marks:
  %k = phi i64 [ 0, %begin ], [ %following, %mark ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %mark, label %done
mark:
  %memory = call ptr @storage(ptr %row, i64 %k)
  %changes = icmp slt i64 %k, %written
  call void @note(ptr %memory, i1 %changes, ptr %lane, i64 %number)
  %following = add i64 %k, 1
  br label %marks
done:
  call void @issue(ptr %lane, i64 %number, i1 %unlisted)
  ret i64 %number
}}
"""

PLACE = counted(
    "place",
    "ptr %slots, ptr %places, ptr %row",
    f"""
    %tensor = call ptr @link(ptr %row, i64 %i)
    %address = call i64 @word(ptr %tensor, i64 {TensorWord.ADDRESS.value})
    %place = call i64 @word(ptr %places, i64 %i)
    call void @set(ptr %slots, i64 %place, i64 %address)
    """,
)

NOTE_USES = counted(
    "note_uses",
    "ptr %row, ptr %borrows, ptr %use",
    "call void @note_use(ptr %row, i64 %i, ptr %borrows, ptr %use)",
)
"""Notes who wrote memory last."""

NOTING = "".join((PYTHON, RECORDS, SPOTS, FIRST_USE, NOTE_FIRST, LOCKING, USES, NOTE_USES))
"""What notes who does something, and where."""

BEGIN = "".join((NOTING, LANES, CLAIM, FREE, RESERVE, PLACE))
"""What begins work by rows."""

BINDING = NOTING + BIND
"""What binds arguments."""
