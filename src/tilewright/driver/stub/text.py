"""LLVM text of the launch stub: all tensors of a launch, looked at in one call.

    i64 tw_share(row, written, count, found)   look at tensors that a launch is about to borrow
    i64 tw_reserve(row, written, count, epochs, lane)   begin a launch whose borrows still stand
    i64 tw_address(row, count, slots, places)   tell the launch where its tensors are

A row is the addresses of the records of a launch's tensors: first those it writes, then those it
reads. Whoever calls holds the lock of borrow state, so nothing changes meanwhile. Where Python must
look closer the answer is below 0, and nothing has been changed.
"""

from __future__ import annotations

from .words import READERS, LaneWord, Look, StorageWord, TensorWord

CLOSER = -1
"""Python must look closer."""
ACCOUNT = -2
"""Python keeps an account of work that may be over: let it look through that, and ask again."""

UNSHARED = Look.EXCLUSIVE | Look.WRITERS | Look.NEIGHBOURS
"""Why reading is no mere look at the epoch."""
UNCLEAR = Look.WRITERS | Look.NEIGHBOURS
"""Why writing must be looked at closer before it is known with what."""
UNWRITABLE = Look.WRITERS | Look.NEIGHBOURS | Look.LEASES | Look.META

RECORDS = f"""
; The record of a tensor of a row, of its memory, and one of the words there.
define internal ptr @tensor(ptr %row, i64 %i) {{
  %at = getelementptr ptr, ptr %row, i64 %i
  %tensor = load ptr, ptr %at
  ret ptr %tensor
}}

define internal ptr @storage(ptr %row, i64 %i) {{
  %tensor = call ptr @tensor(ptr %row, i64 %i)
  %at = getelementptr i64, ptr %tensor, i64 {TensorWord.STORAGE.value}
  %storage = load ptr, ptr %at
  ret ptr %storage
}}

define internal i64 @word(ptr %record, i64 %i) {{
  %at = getelementptr i64, ptr %record, i64 %i
  %word = load i64, ptr %at
  ret i64 %word
}}

define internal void @set(ptr %record, i64 %i, i64 %word) {{
  %at = getelementptr i64, ptr %record, i64 %i
  store i64 %word, ptr %at
  ret void
}}
"""

SHARE = f"""
; Writes the kind of each tensor and the epoch of its memory to `found`.
define i64 @tw_share(ptr %row, i64 %written, i64 %count, ptr %found) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %note ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %done
each:
  %tensor = call ptr @tensor(ptr %row, i64 %i)
  %storage = call ptr @storage(ptr %row, i64 %i)
  %writes = icmp slt i64 %i, %written
  %refused = select i1 %writes, i64 {int(UNCLEAR)}, i64 {int(UNSHARED)}
  %look = call i64 @word(ptr %storage, i64 {StorageWord.LOOK.value})
  %seen = and i64 %look, %refused
  %plain = icmp eq i64 %seen, 0
  br i1 %plain, label %note, label %closer
note:
  %kind = call i64 @word(ptr %tensor, i64 {TensorWord.KIND.value})
  %epoch = call i64 @word(ptr %storage, i64 {StorageWord.EPOCH.value})
  call void @set(ptr %found, i64 %i, i64 %kind)
  %behind = add i64 %count, %i
  call void @set(ptr %found, i64 %behind, i64 %epoch)
  %next = add i64 %i, 1
  br label %head
done:
  ret i64 0
closer:
  ret i64 {CLOSER}
}}
"""

FREE = f"""
; Whether work of a lane needs to wait for what was noted: a lane, and its number there.
define internal i1 @clear(ptr %noted, ptr %lane) {{
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
define internal i1 @unread(ptr %storage, ptr %lane) {{
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
define internal ptr @place(ptr %storage, ptr %lane) {{
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
; Whether a tensor can be used as it stands, by work of a lane; `epoch` is that of a read.
define internal i64 @ready(ptr %storage, i1 %writes, i64 %epoch, ptr %lane) {{
entry:
  %look = call i64 @word(ptr %storage, i64 {StorageWord.LOOK.value})
  %now = call i64 @word(ptr %storage, i64 {StorageWord.EPOCH.value})
  %noted = getelementptr i64, ptr %storage, i64 {StorageWord.WRITE.value}
  %bits = select i1 %writes, i64 {int(UNWRITABLE)}, i64 {int(~Look.FLIGHTS & 127)}
  %seen = and i64 %look, %bits
  %usable = icmp eq i64 %seen, 0
  %unchanged = icmp eq i64 %now, %epoch
  %stands = or i1 %writes, %unchanged
  %may = and i1 %usable, %stands
  br i1 %may, label %account, label %closer
account:
  %kept = and i64 %look, {int(Look.FLIGHTS)}
  %none = icmp eq i64 %kept, 0
  br i1 %none, label %written, label %ask
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
  %place = call ptr @place(ptr %storage, ptr %lane)
  %full = icmp eq ptr %place, null
  br i1 %full, label %closer, label %yes
yes:
  ret i64 0
closer:
  ret i64 {CLOSER}
}}

; Note work of a lane over a piece of memory.
define internal void @note(ptr %storage, i1 %writes, ptr %lane, i64 %number) {{
entry:
  br i1 %writes, label %write, label %read
write:
  %last = getelementptr i64, ptr %storage, i64 {StorageWord.WRITE.value}
  br label %do
read:
  %free = call ptr @place(ptr %storage, ptr %lane)
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

; Gives the number of the launch in its lane.
define i64 @tw_reserve(ptr %row, i64 %written, i64 %count, ptr %epochs, ptr %lane) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %pass ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %begin
each:
  %storage = call ptr @storage(ptr %row, i64 %i)
  %writes = icmp slt i64 %i, %written
  %epoch = call i64 @word(ptr %epochs, i64 %i)
  %answer = call i64 @ready(ptr %storage, i1 %writes, i64 %epoch, ptr %lane)
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
  call void @set(ptr %lane, i64 {LaneWord.ISSUED.value}, i64 %number)
  %unput = call i64 @word(ptr %lane, i64 {LaneWord.UNPUT.value})
  %one_more = add i64 %unput, 1
  call void @set(ptr %lane, i64 {LaneWord.UNPUT.value}, i64 %one_more)
  ret i64 %number
}}
"""

ADDRESS = f"""
; Writes the address of each tensor to the slot that `places` has for it.
define i64 @tw_address(ptr %row, i64 %count, ptr %slots, ptr %places) {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %each ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %each, label %done
each:
  %tensor = call ptr @tensor(ptr %row, i64 %i)
  %address = call i64 @word(ptr %tensor, i64 {TensorWord.ADDRESS.value})
  %place = call i64 @word(ptr %places, i64 %i)
  call void @set(ptr %slots, i64 %place, i64 %address)
  %next = add i64 %i, 1
  br label %head
done:
  ret i64 0
}}
"""

TEXT = RECORDS + SHARE + FREE + RESERVE + ADDRESS
