from __future__ import annotations

import threading

from tilewright.launch.recent import Recent


def test_the_oldest_goes_first():
    recent = Recent[int, str](2)
    for n in (1, 2, 3):
        recent.keep(n, str(n))
    assert recent == {2: "2", 3: "3"}
    recent.keep(2, "again")
    assert recent == {2: "again", 3: "3"}
    recent.keep_latest(2, "latest")
    recent.keep(4, "4")
    assert recent == {2: "latest", 4: "4"}


def test_many_threads_keep_within_the_room():
    recent = Recent[int, int](10)

    def fill(start):
        for n in range(start, start + 500):
            recent.keep(n, n)
            assert recent.get(n, n) == n

    threads = [threading.Thread(target=fill, args=(1000 * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < len(recent) <= 10
