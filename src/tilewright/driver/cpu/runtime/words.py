"""How the native half of the CPU device lays out its memory: 64-bit words, by position."""

from __future__ import annotations

from enum import IntEnum


class Job(IntEnum):
    """An entry of a stream: blocks of a kernel, a list of such jobs, or a wait."""

    KERNEL = 0
    ARGUMENTS = 1
    LAUNCH = 2
    BLOCKS = 3
    THREADS = 4
    """How many may work on it at once."""
    SCRATCH = 5
    """Bytes each of them needs."""
    NODES = 6
    """Where the addresses of the jobs are that this one is a list of; 0: it is none."""
    COUNT = 7
    AT = 8
    """The node being run."""
    BEGUN = 9
    """Whether that node has been begun."""
    CANCELLED = 10
    """Not 0: it was not run, or not to its end."""
    STARVED = 11
    """Not 0: there was not enough memory for its scratch."""
    FAILED = 12
    """The number of the node whose failure the launch words show."""
    NEXT = 13
    """What stands behind it in its stream."""
    AWAITED = 14
    """The `completed` word that must reach NUMBER before it is passed; 0: no wait."""
    NUMBER = 15
    COUNTER = 16
    """The next block; away from the rest, since all threads write it."""
    ACTIVE = 24
    """How many helpers are in it."""
    ROOM = 25
    """How many more may join."""
    SHARED = 26
    """Whether helpers were called."""
    LISTED = 27
    """Whether helpers find it."""
    NEXT_SHARED = 28
    PROCESSOR = 29
    """Where the owner was when it called helpers."""
    SINCE = 30
    """When that was."""
    LONG = 31
    """Whether there was work for helpers when it ran before: then they are called first."""
    TOGETHER = 32
    """How many blocks in a row a thread had better run, since they share work."""
    LASTED = 33
    """How many nanoseconds were spent in it when it ran."""
    OWNER = 34
    """The thread that runs it by `tw_resume` and has left that, as time was up; 0: none."""


JOB_WORDS = 40


class Queue(IntEnum):
    """A stream: its jobs, the first of which runs as soon as its waits are over."""

    COMPLETED = 0
    """How many of its jobs have passed."""
    SUBMITTED = 1
    """How many have been put on it."""
    HEAD = 2
    TAIL = 3
    LINK = 4
    """The next one in the list of those that are ready, or of those that wait."""
    ALARM = 5
    """Listeners are told when COMPLETED reaches this."""
    STATE = 6
    """What it shares with the others."""


QUEUE_WORDS = 16


class State(IntEnum):
    """What all streams and threads share; under the mutex, but for those before READY."""

    GENERATION = 0
    """Counts what was put up for the workers; idle ones watch it."""
    FORKED = 8
    """Not 0 in a child process: nothing here can be used any more."""
    ALONE = 9
    """Nanoseconds of work after which helpers are called."""
    WORKERS = 10
    """How many workers there are."""
    USUAL = 11
    """How many threads a launch may use, where no `with` block has other settings in force."""
    OWNED = 12
    """How many jobs have an owner that has left them."""
    READY = 16
    """The first stream whose head can run."""
    READY_END = 17
    READY_COUNT = 18
    BLOCKED = 19
    """The first stream whose head waits."""
    CHANGED = 20
    """Whether any stream has moved since those that wait were looked at."""
    SHARED = 21
    """The first job that helpers may join."""
    LOOKING = 22
    """Workers that look out for work."""
    SLEEPING = 23
    """Workers that must be woken."""
    STOP = 24
    WAITERS = 25
    """The first thread that waits for a point of a stream."""
    ALERTS = 26
    """Counts what listeners are told."""
    LISTENERS = 27
    MUTEX = 32
    WORK = 48
    """The condition workers sleep on."""
    HELPED = 64
    """The condition a job's owner sleeps on until its helpers have left."""
    PASSED = 80
    """The condition of those that wait for a point of a stream."""
    ALERTED = 96
    """The condition of listeners."""


STATE_WORDS = 112


class Waiter(IntEnum):
    """A thread that waits for a point of a stream; in its own stack."""

    NEXT = 0
    QUEUE = 1
    NUMBER = 2


class Listener(IntEnum):
    """The thread that runs the handlers of signals: `base.shield.LISTENER`."""

    IDENT = 0
    WORD = 1
    """Where the interpreter notes which thread that is; see `base.shield`."""
    INSIDE = 2
    """Not 0: it runs them in the middle of a block."""


class Arena(IntEnum):
    """The scratch memory of a worker."""

    ADDRESS = 0
    BYTES = 1
