"""The native half as a whole: what becomes of streams when something ends, waits or competes."""

from __future__ import annotations

import textwrap

import pytest

from support.processes import run_program

# Work that is waiting when something ends


PENDING = """
slow = kernel(sleep_then_write(2_000), USLEEP)
out = np.zeros((4, 100_000), np.int64)
launchers = [Launcher(slow, slots(row).tolist(), (row.size,), 0, 0) for row in out]
records = []
for stream, launcher in zip(CPU.streams(), launchers):
    for _ in range(3):
        records.append(launcher.record())
        stream.launch(records[-1], keep=launcher)
CPU.streams()[0].wait_for(CPU.streams()[3].record())
"""


def pending(text: str) -> str:
    """A program with minutes of work on its streams."""
    return run_program(PENDING + textwrap.dedent(text))


@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "os.kill(os.getpid(), signal.SIGTERM)"])
def test_exit_with_work_pending_does_not_wait_for_it(ending):
    signals = "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))"
    assert pending(f"print('end', flush=True)\n{signals}\n{ending}") == "end\n"


def test_what_exit_cancelled_is_over_for_later_exit_handlers():
    text = run_program("""
        import atexit

        @atexit.register
        def last():
            CPU.synchronize()
            reports = [launcher.report(record) for record in records]
            print(len([r for r in reports if "was cancelled" in str(r.problem)]))
            again = np.zeros(5, np.int64)
            execute(kernel(WRITE_BLOCK), slots(again), (5,))
            CPU.streams()[1].wait_for(CPU.streams()[0].record())
            print(again.tolist())

        gate, out = np.zeros(1, np.int64), np.zeros(99_999, np.int64)
        launcher = Launcher(kernel(GATE, USLEEP), slots(gate).tolist(), (9,), 0, 0)
        records = [launcher.record() for _ in range(3)]
        slow = Launcher(
            kernel(sleep_then_write(2_000), USLEEP), slots(out).tolist(), (out.size,), 0, 0
        )
        CPU.streams()[0].launch(slow.record(), keep=slow)
        CPU.streams()[1].wait_for(CPU.streams()[0].record())
        for record in records:
            CPU.streams()[1].launch(record)
    """)
    assert text == "3\n[0, 1, 2, 3, 4]\n"


def test_work_of_a_thread_that_ended_goes_on():
    text = run_program("""
        out, called = np.zeros(50, np.int64), []
        launcher = Launcher(kernel(sleep_then_write(500), USLEEP), slots(out).tolist(), (50,), 0, 0)

        def work():
            stream = CPU.new_stream()
            stream.launch(launcher.record(), keep=launcher)
            stream.after(lambda: called.append(out.tolist()))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        CPU.synchronize()
        print(called == [list(range(50))])
    """)
    assert text == "True\n"


FORKED = """
gate = np.zeros(1, np.int64)
launcher = Launcher(kernel(GATE, USLEEP), slots(gate).tolist(), (1,), 0, 0)
own, event_of_own = CPU.new_stream(), CPU.streams()[1].record()
past = own.record()
own.launch(launcher.record(), keep=launcher)
pending = own.record()

def refused(call):
    try:
        call()
    except ContextError as error:
        return "cannot be used in a forked child" in str(error)
    return False

child = os.fork()
if child == 0:
    uses = [
        own.record, own.idle, own.synchronize, pending.done, pending.wait,
        lambda: own.launch(launcher.record()), lambda: own.launch(launcher.record(), inline=True),
        lambda: own.after(print), lambda: CPU.streams()[0].wait_for(pending),
        lambda: CPU.progress.watch(pending),
    ]
    assert all([refused(use) for use in uses]), [refused(use) for use in uses]
    assert past.done() and past.wait()
    assert own not in CPU.streams()
    out = np.zeros(2000, np.int64)
    quick = Launcher(kernel(WRITE_BLOCK), slots(out).tolist(), (2000,), 0, 0)
    for stream in CPU.streams():
        stream.launch(quick.record(), keep=quick)
    CPU.streams()[0].wait_for(CPU.streams()[1].record())
    CPU.synchronize()
    assert np.array_equal(out, 4 * np.arange(2000))
    memory = CPU.allocate(1 << 20, zeroed=True)
    print("child", flush=True)
    os._exit(0)
gate[0] = 1
own.synchronize()
_, status = os.waitpid(child, 0)
print("parent", status, pending.done())
"""


def test_fork_with_work_pending():
    """A child has streams of its own; the parent's stay the parent's."""
    assert run_program(FORKED) == "child\nparent 0 True\n"


@pytest.mark.parametrize("waiting", ["CPU.streams()[0].synchronize()", "event.wait()"])
def test_ctrl_c_while_waiting_leaves_the_work_alone(waiting):
    text = run_program(f"""
        out = np.zeros(300, np.int64)
        launcher = Launcher(
            kernel(sleep_then_write(5_000), USLEEP), slots(out).tolist(), (300,), 0, 0
        )
        with config.override(num_threads=2):
            CPU.streams()[0].launch(launcher.record(), keep=launcher)
        event = CPU.streams()[0].record()
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            {waiting}
        except KeyboardInterrupt:
            print("interrupted", event.done())
        CPU.streams()[0].synchronize()
        print(np.array_equal(out, np.arange(300)))
    """)
    assert text == "interrupted False\nTrue\n"


# Other libraries' threads


def test_an_idle_pool_uses_no_processor_time():
    text = run_program("""
        out = np.zeros(5000, np.int64)
        launcher = Launcher(kernel(SPIN), slots(out).tolist(), (5000,), 0, 0)
        with config.override(num_threads=4):
            for stream in CPU.streams():
                stream.launch(launcher.record(), keep=launcher)
            CPU.synchronize()
        time.sleep(0.1)  # workers look out for a moment
        before = time.process_time()
        time.sleep(1.0)
        print(time.process_time() - before < 0.1)
    """)
    assert text == "True\n"


def test_numpy_gets_on_while_the_pool_is_busy():
    """The work ends only when so many products are done."""
    text = run_program("""
        gate = np.zeros(1, np.int64)
        launcher = Launcher(kernel(UNTIL_OPEN), slots(gate).tolist(), (50_000_000,), 0, 0)
        CPU.streams()[0].launch(launcher.record(), keep=launcher)
        a = np.random.default_rng(0).random((300, 300))
        products = [a @ a for _ in range(20)]
        busy = not CPU.streams()[0].idle()
        gate[0] = 1
        CPU.synchronize()
        print(busy, len(products))
    """)
    assert text == "True 20\n"


def test_the_pool_gets_on_while_numpy_is_busy():
    """The products end only when so many launches are done."""
    text = run_program("""
        a, done, products = np.random.default_rng(0).random((300, 300)), threading.Event(), []

        def multiply():
            while not done.is_set():
                products.append((a @ a)[0, 0])

        thread = threading.Thread(target=multiply)
        thread.start()
        out = np.zeros(2000, np.int64)
        launcher = Launcher(kernel(SPIN), slots(out).tolist(), (2000,), 0, 0)
        for i in range(50):
            CPU.streams()[i % 4].launch(launcher.record(), inline=i % 2 == 0, keep=launcher)
        CPU.synchronize()
        done.set()
        thread.join()
        print(len(products) > 0, out.any())
    """)
    assert text == "True True\n"
