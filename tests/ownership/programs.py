"""Small host programs with rustc's verdict beside ours.

Each is written twice: in Rust, as one would with an API like ours, and in Python. `rustc` is "ok"
or the code of its error. We agree, unless a reason says why not. What we refuse is refused at the
last line of its program, before any work of that line.
"""

from __future__ import annotations

from typing import NamedTuple

# Why some programs are judged otherwise.
METADATA = "shape, dtype and repr are readable in every state, also after a move"
KEEPS = "a view, an op or a part keeps its memory alive, so nothing dangles"
REGIONS = "regions are known at run time: disjoint regions do not conflict"
NOT_CONSUMING = "only partition, move, Arc and similar functions move a tensor"
GIVEN_BACK = "an op that is dropped before it starts returns the tensors that it took"
RAN_OTHERWISE = "only the path that ran decides, not the paths that might have run"
ORDERED = "started work is ordered by events, not rejected"
NO_CLONE = "passing an Arc to an op does not consume it"
STATIC = "a shared op may borrow: its borrow is checked when it runs"
OUT_OF_SIGHT = "NumPy may use the array at any time, and Tilewright cannot see whether it does"
HOLE_CLOSED = "the borrow of a destination starts where the copy is built"
CAPTURED = "a captured tensor is borrowed when the function uses it"


class Program(NamedTuple):
    """One program: in Rust, what rustc says, in Python, and why we say otherwise, if we do."""

    rust: str
    rustc: str
    python: str
    why: str = ""

    @property
    def refused(self) -> bool:
        """Whether we refuse it."""
        return (self.rustc != "ok") != bool(self.why)


# x, y, z, w are tensors of 4 x 4 elements; `neg` writes its first argument and reads its second,
# `two` writes both; `s` is the tile shape (2, 2).

MOVES = {
    "use after move": Program(
        "let y = x; x.read();", "E0382",
        "y = tw.move(x)\nx.to_numpy()"),
    "use of the new name": Program(
        "let y = x; y.read();", "ok",
        "y = tw.move(x)\ny.to_numpy()"),
    "moved twice": Program(
        "let y = x; let z = x;", "E0382",
        "y = tw.move(x)\ntw.move(x)"),
    "moved on": Program(
        "let y = x; let z = y; z.read();", "ok",
        "z = tw.move(tw.move(x))\nz.to_numpy()"),
    "moved into an Arc": Program(
        "let a = Arc::new(x); x.read();", "E0382",
        "a = tw.Arc(x)\nx.to_numpy()"),
    "consumed by partition": Program(
        "let p = z.partition(s); z.read();", "E0382",
        "p = z.partition(s)\nz.to_numpy()"),
    "partition and back": Program(
        "let z = z.partition(s).unpartition(); z.read();", "ok",
        "z = z.partition(s).unpartition()\nz.to_numpy()"),
    "partition after unpartition": Program(
        "let p = z.partition(s); let z = p.unpartition(); neg(p, &x).sync();", "E0382",
        "p = z.partition(s)\nz = p.unpartition()\nneg(p, x)"),
    "partitioned twice": Program(
        "let p = z.partition(s); let q = z.partition(s);", "E0382",
        "p = z.partition(s)\nz.partition(s)"),
    "moved into a launch": Program(
        "neg(z.partition(s), &x).sync(); z.read();", "E0382",
        "neg(z.partition(s), x).sync()\nz.to_numpy()"),
    "back from a launch": Program(
        "let (p, _) = neg(z.partition(s), &x).sync(); p.unpartition().read();", "ok",
        "p, _ = neg(z.partition(s), x).sync()\np.unpartition().to_numpy()"),
    "moved input": Program(
        "neg(z.partition(s), x).sync(); x.read();", "E0382",
        "neg(z.partition_mut(s), tw.move(x)).sync()\nx.to_numpy()"),
    "moved in a loop": Program(
        "let mut v = vec![]; for _ in 0..2 { v.push(x); }", "E0382",
        "v = []\nv.append(tw.move(x))\nv.append(tw.move(x))"),
    "moved away and dropped": Program(
        "drop(x); x.read();", "E0382",
        "tw.move(x)\nx.to_numpy()", GIVEN_BACK),
    "moved into an op that never runs": Program(
        "drop(neg(z.partition(s), &x)); z.read();", "E0382",
        "neg(z.partition(s), x).close()\nz.to_numpy()", GIVEN_BACK),
    "perhaps moved": Program(
        "if never() { drop(x); } x.read();", "E0382",
        "if x is None: kept = tw.move(x)\nx.to_numpy()", RAN_OTHERWISE),
    "moved and made again": Program(
        "let y = x; x = zeros(); x.read();", "ok",
        "y = tw.move(x)\nx = tw.zeros((4, 4)).sync()\nx.to_numpy()"),
    "metadata after move": Program(
        "let y = x; x.shape();", "E0382",
        "y = tw.move(x)\nassert x.shape == (4, 4)", METADATA),
    "printed after partition": Program(
        "let p = z.partition(s); println!(\"{z:?}\");", "E0382",
        "p = z.partition(s)\nassert 'moved' in repr(z)", METADATA),
    "reshape": Program(
        "let v = x.reshape([16]); x.read();", "E0382",
        "v = x.reshape(16)\nx.to_numpy()", NOT_CONSUMING),
    "to the host": Program(
        "let v = x.to_host_vec().sync(); x.read();", "E0382",
        "v = x.to_numpy()\nx.to_numpy()", NOT_CONSUMING),
    "moved out of a view": Program(
        "let v = &x; let y = *v;", "E0507",
        "v = x[:2]\ntw.move(v)"),
}  # fmt: skip

SHARED = {
    "two readers": Program(
        "let (a, b) = (&x, &x); a.read(); b.read();", "ok",
        "a, b = x[:], x[:]\na.to_numpy()\nb.to_numpy()"),
    "one input twice": Program(
        "add(z.partition_mut(s), &x, &x).sync();", "ok",
        "add(z.partition_mut(s), x, x).sync()"),
    "two ops read": Program(
        "let a = neg(z.mut_(), &x); let b = neg(w.mut_(), &x); b.sync(); a.sync();", "ok",
        "a = neg(z.partition_mut(s), x)\nb = neg(w.partition_mut(s), x)\nb.sync()\na.sync()"),
    "read, then written": Program(
        "let v = &x; v.read(); neg(x.partition_mut(s), &y).sync();", "ok",
        "v = x[:]\nv.to_numpy()\nneg(x.partition_mut(s), y).sync()"),
    "written while an op borrows": Program(
        "let op = neg(z.mut_(), &x); neg(x.mut_(), &y).sync(); op.sync();", "E0502",
        "op = neg(z.partition_mut(s), x)\nneg(x.partition_mut(s), y).sync()\nop.sync()"),
    "written while a forgotten op borrows": Program(
        "let _op = neg(z.mut_(), &x); neg(x.mut_(), &y).sync();", "ok",
        "op = neg(z.partition_mut(s), x)\nneg(x.partition_mut(s), y).sync()\nop.close()"),
    "moved while an op borrows": Program(
        "let op = neg(z.mut_(), &x); let y = x; op.sync();", "E0505",
        "op = neg(z.partition_mut(s), x)\nkept = tw.move(x)\nop.sync()"),
    "view of what was written": Program(
        "let v = &x[..2]; neg(x.mut_(), &y).sync(); v.read();", "E0502",
        "v = x[:2]\nneg(x.partition_mut(s), y).sync()\nv.to_numpy()"),
    "view of what was moved": Program(
        "let v = &x[..2]; let y = x; v.read();", "E0505",
        "v = x[:2]\nkept = tw.move(x)\nv.to_numpy()"),
    "forgotten view of what was moved": Program(
        "let _v = &x[..2]; let y = x; y.read();", "ok",
        "v = x[:2]\ny = tw.move(x)\ny.to_numpy()"),
    "view of a view": Program(
        "let v = &(&x[..3])[..2]; neg(x.mut_(), &y).sync(); v.read();", "E0502",
        "v = x[:3][:2]\nneg(x.partition_mut(s), y).sync()\nv.to_numpy()"),
    "view taken again": Program(
        "let v = &x[..2]; neg(x.mut_(), &y).sync(); let v = &x[..2]; v.read();", "ok",
        "v = x[:2]\nneg(x.partition_mut(s), y).sync()\nv = x[:2]\nv.to_numpy()"),
    "view in a list": Program(
        "let l = vec![&x[..2]]; neg(x.mut_(), &y).sync();", "ok",
        "l = [x[:2]]\nneg(x.partition_mut(s), y).sync()"),
    "view as an input": Program(
        "let v = &x[..2]; neg(z.mut_(), v).sync(); v.read();", "ok",
        "v = x[:]\nneg(z.partition_mut(s), v).sync()\nv.to_numpy()"),
    "written through a view": Program(
        "let v = &x[..2]; neg(v.partition_mut(s), &y);", "E0596",
        "v = x[:2]\nv.partition_mut(s)"),
    "a reshaped view is a view": Program(
        "let v = x.view([16]); neg(x.mut_(), &y).sync(); v.read();", "E0502",
        "v = x.reshape(16)\nneg(x.partition_mut(s), y).sync()\nv.to_numpy()"),
    "owner dropped under a view": Program(
        "let v = &x[..2]; drop(x); v.read();", "E0505",
        "v = x[:2]\ndel x\nv.to_numpy()", KEEPS),
    "owner dropped under an op": Program(
        "let op = neg(z.mut_(), &x); drop(x); op.sync();", "E0505",
        "op = neg(z.partition_mut(s), x)\ndel x\nop.sync()", KEEPS),
    "view of a local": Program(
        "fn f() -> &Tensor { let t = zeros(); &t[..2] }", "E0106",
        "def f():\n    t = tw.zeros((4, 4)).sync()\n    return t[:2]\nf().to_numpy()", KEEPS),
}  # fmt: skip

EXCLUSIVE = {
    "one after the other": Program(
        "neg(z.mut_(), &x).sync(); neg(z.mut_(), &y).sync();", "ok",
        "neg(z.partition_mut(s), x).sync()\nneg(z.partition_mut(s), y).sync()"),
    "the first of two": Program(
        "let p = z.mut_(); let q = z.mut_(); neg(p, &x);", "E0499",
        "p = z.partition_mut(s)\nq = z.partition_mut(s)\nneg(p, x)"),
    "the second of two": Program(
        "let p = z.mut_(); let q = z.mut_(); neg(q, &x).sync();", "ok",
        "p = z.partition_mut(s)\nq = z.partition_mut(s)\nneg(q, x).sync()"),
    "read in between": Program(
        "let p = z.mut_(); z.read(); neg(p, &x);", "E0502",
        "p = z.partition_mut(s)\nz.to_numpy()\nneg(p, x)"),
    "read before": Program(
        "z.read(); let p = z.mut_(); neg(p, &x).sync(); z.read();", "ok",
        "z.to_numpy()\np = z.partition_mut(s)\nneg(p, x).sync()\nz.to_numpy()"),
    "an op's output read in between": Program(
        "let op = neg(z.mut_(), &x); z.read(); op.sync();", "E0502",
        "op = neg(z.partition_mut(s), x)\nz.to_numpy()\nop.sync()"),
    "read and written at once": Program(
        "neg(z.mut_(), &z);", "E0502",
        "neg(z.partition_mut(s), z)"),
    "written twice at once": Program(
        "two(z.mut_(), z.mut_());", "E0499",
        "two(z.partition_mut(s), z.partition_mut(s))"),
    "one partition twice at once": Program(
        "let p = z.mut_(); two(&mut p, &mut p);", "E0499",
        "p = z.partition_mut(s)\ntwo(p, p)"),
    "a partition again": Program(
        "let p = z.mut_(); neg(&mut p, &x).sync(); neg(&mut p, &y).sync();", "ok",
        "p = z.partition_mut(s)\nneg(p, x).sync()\nneg(p, y).sync()"),
    "two ops of one partition": Program(
        "let a = neg(&mut p, &x); let b = neg(&mut p, &y); b.sync(); a.sync();", "E0499",
        "p = z.partition_mut(s)\na = neg(p, x)\nb = neg(p, y)\nb.sync()\na.sync()"),
    "a borrow after a read": Program(
        "let m = &mut z; z.read(); m.partition(s);", "E0502",
        "m = z.borrow_mut()\nz.to_numpy()\nm.partition(s)"),
    "partitions of one borrow in turn": Program(
        "let m = &mut z; neg(m.partition(s), &x).sync(); neg(m.partition(s), &x).sync();", "ok",
        "m = z.borrow_mut()\nneg(m.partition(s), x).sync()\nneg(m.partition(s), x).sync()"),
    "partitions of one borrow at once": Program(
        "let p = m.partition(s); let q = m.partition(s); neg(p, &x);", "E0499",
        "m = z.borrow_mut()\np = m.partition(s)\nq = m.partition(s)\nneg(p, x)"),
    "moved while borrowed": Program(
        "let p = z.mut_(); let y = z; neg(p, &x);", "E0505",
        "p = z.partition_mut(s)\nkept = tw.move(z)\nneg(p, x)"),
    "read through a view in between": Program(
        "let v = &z[..2]; let p = z.mut_(); v.read();", "E0502",
        "v = z[:2]\np = z.partition_mut(s)\nv.to_numpy()"),
}  # fmt: skip

PARTS = {
    "split": Program(
        "let (a, b) = z.split_at_mut(2); two(a.partition(s), b.partition(s)).sync();", "ok",
        "a, b = z.borrow_mut().split_at(2)\ntwo(a.partition(s), b.partition(s)).sync()"),
    "two indices": Program(
        "let (a, b) = (&mut m[..2], &mut m[2..]); two(a.partition(s), b.partition(s));", "E0499",
        "m = z.borrow_mut()\na, b = m[:2], m[2:]\ntwo(a.partition(s), b.partition(s)).sync()",
        REGIONS),
    "overlapping indices": Program(
        "let a = &mut m[..3]; let b = &mut m[2..]; a.partition(s);", "E0499",
        "m = z.borrow_mut()\na = m[:3]\nb = m[2:]\na.partition(s)"),
    "one written, one read": Program(
        "let (a, b) = z.split_at_mut(2); neg(a.partition(s), &b).sync();", "ok",
        "a, b = z.borrow_mut().split_at(2)\n"
        "neg(a.partition(s), b.partition(s).unpartition()).sync()"),
    "a view beside a part": Program(
        "let a = &mut z[..2]; let v = &z[2..]; neg(a.partition(s), v).sync();", "E0502",
        "a = z.borrow_mut()[:2]\nv = z[2:]\nneg(a.partition(s), v).sync()", REGIONS),
    "all read beside a part": Program(
        "let a = &mut z[..2]; z.read(); a.partition(s);", "E0502",
        "a = z.borrow_mut()[:2]\nz.to_numpy()\na.partition(s)"),
    "the borrow used beside its part": Program(
        "let a = &mut m[..2]; m.partition(s); a.partition(s);", "E0499",
        "m = z.borrow_mut()\na = m[:2]\nm.partition(s)\na.partition(s)"),
    "a part of a part": Program(
        "let a = &mut (&mut m[..3])[1..]; neg(a.partition(s), &y[..2]).sync();", "ok",
        "m = z.borrow_mut()\na = m[:3][1:]\nneg(a.partition(s), y[:2]).sync()"),
    "the outer part after the inner": Program(
        "let a = &mut m[..2]; let i = &mut a[..1]; i.fill(0); a.partition(s);", "ok",
        "m = z.borrow_mut()\na = m[:2]\ni = a[:1]\ni.partition(s)\na.partition(s).check_usable()"),
    "the inner part after the outer": Program(
        "let a = &mut m[..2]; let i = &mut a[..1]; a.fill(0); i.partition(s);", "E0499",
        "m = z.borrow_mut()\na = m[:2]\ni = a[:1]\na.partition(s)\ni.partition(s)"),
    "moved under a part": Program(
        "let a = &mut z[..2]; let y = z; a.partition(s);", "E0505",
        "a = z.borrow_mut()[:2]\nkept = tw.move(z)\na.partition(s)"),
    "a part given away": Program(
        "let y = *(&mut z[..2]);", "E0507",
        "tw.move(z.borrow_mut()[:2].partition(s).unpartition())"),
}  # fmt: skip

ARCS = {
    "clones are read": Program(
        "let b = a.clone(); a.read(); b.read();", "ok",
        "a = tw.Arc(x)\nb = a.clone()\na.to_numpy()\nb.to_numpy()"),
    "the only owner unwraps": Program(
        "Arc::try_unwrap(a).unwrap().read();", "ok",
        "a = tw.Arc(x)\na.unwrap_arc().to_numpy()"),
    "one of two owners unwraps": Program(
        "let b = a.clone(); Arc::try_unwrap(a).unwrap();", "panics",
        "a = tw.Arc(x)\nb = a.clone()\na.unwrap_arc()"),
    "the other owner dropped": Program(
        "let b = a.clone(); drop(b); Arc::try_unwrap(a).unwrap();", "ok",
        "a = tw.Arc(x)\nb = a.clone()\ndel b\na.unwrap_arc()"),
    "written through an Arc": Program(
        "neg(a.partition_mut(s), &y);", "E0596",
        "a = tw.Arc(x)\na.value.partition_mut(s)"),
    "one of two owners partitions": Program(
        "let b = a.clone(); a.try_partition(s).unwrap();", "panics",
        "a = tw.Arc(x)\nb = a.clone()\na.try_partition(s)"),
    "used after unwrap": Program(
        "let t = Arc::try_unwrap(a).unwrap(); a.read();", "E0382",
        "a = tw.Arc(x)\nt = a.unwrap_arc()\na.to_numpy()"),
    "content after unwrap": Program(
        "let v = &*a; let t = Arc::try_unwrap(a).unwrap(); v.read();", "E0505",
        "a = tw.Arc(x)\nv = a.value\nt = a.unwrap_arc()\nv.to_numpy()"),
    "passed without clone": Program(
        "neg(z.mut_(), a).sync(); a.read();", "E0382",
        "a = tw.Arc(x)\nneg(z.partition_mut(s), a).sync()\na.to_numpy()", NO_CLONE),
    "written by the last owner": Program(
        "let p = a.try_partition(s).unwrap(); neg(p, &y).sync();", "ok",
        "a = tw.Arc(x)\nneg(a.try_partition(s), y).sync()"),
    "metadata of a used Arc": Program(
        "let t = Arc::try_unwrap(a).unwrap(); a.shape();", "E0382",
        "a = tw.Arc(x)\nt = a.unwrap_arc()\nassert a.shape == (4, 4)", METADATA),
}  # fmt: skip

SLICES = {
    "slice of what is written": Program(
        "let v = z.as_slice(); neg(z.mut_(), &x).sync(); v[0];", "E0502",
        "v = np.asarray(z)\nneg(z.partition_mut(s), x).sync()"),
    "forgotten slice of what is written": Program(
        "let v = z.as_slice(); v[0]; neg(z.mut_(), &x).sync();", "ok",
        "v = np.asarray(z)\nneg(z.partition_mut(s), x).sync()", OUT_OF_SIGHT),
    "dropped slice of what is written": Program(
        "let v = z.as_slice(); drop(v); neg(z.mut_(), &x).sync();", "ok",
        "v = np.asarray(z)\ndel v\nneg(z.partition_mut(s), x).sync()"),
    "slice beside a reader": Program(
        "let v = x.as_slice(); neg(z.mut_(), &x).sync(); v[0];", "ok",
        "v = np.asarray(x)\nneg(z.partition_mut(s), x).sync()\nv[0]"),
    "mutable slice": Program(
        "z.as_mut_slice()[0] = 1.0; z.read();", "ok",
        "with z.borrow_mut().numpy() as a: a[0] = 1\nz.to_numpy()"),
    "read beside a mutable slice": Program(
        "let a = z.as_mut_slice(); z.read(); a[0] = 1.0;", "E0502",
        "with z.borrow_mut().numpy() as a: z.to_numpy()"),
    "mutable slice kept": Program(
        "let part; { part = &mut z.lock()[1..]; } part[0] = 1.0;", "E0716",
        "with z.borrow_mut().numpy() as a: part = a[1:]"),
    "exported and moved": Program(
        "let v = z.as_slice(); let y = z; v[0];", "E0505",
        "v = np.from_dlpack(z)\ntw.move(z)"),
}  # fmt: skip

OPS = {
    "run twice": Program(
        "let op = neg(z.mut_(), &x); op.sync(); op.sync();", "E0382",
        "op = neg(z.partition_mut(s), x)\nop.sync()\nop.sync()"),
    "run after it was composed": Program(
        "let op = zeros(s); let q = op.map(f); op.sync();", "E0382",
        "op = tw.zeros((4, 4))\nq = op.map(len)\nop.sync()"),
    "results of a launch": Program(
        "let (p, v) = neg(z.partition(s), &x).sync(); v.read();", "ok",
        "p, v = neg(z.partition(s), x).sync()\nv.to_numpy()"),
    "two copies to one place": Program(
        "let a = memcpy(&mut z, &x); let b = memcpy(&mut z, &y); b.sync(); a.sync();", "ok",
        "a = tw.memcpy(z, x)\nb = tw.memcpy(z, y)\nb.sync()\na.sync()", HOLE_CLOSED),
    "a copy out of what is written": Program(
        "let a = x.dup(); neg(x.mut_(), &y).sync(); a.sync();", "E0502",
        "a = x.dup()\nneg(x.partition_mut(s), y).sync()\na.sync()"),
    "zip of two readers": Program(
        "zip!(neg(z.mut_(), &x), neg(w.mut_(), &x)).sync();", "ok",
        "tw.zip(neg(z.partition_mut(s), x), neg(w.partition_mut(s), x)).sync()"),
    "zip of two writers": Program(
        "zip!(neg(z.mut_(), &x), neg(z.mut_(), &y));", "E0499",
        "tw.zip(neg(z.partition_mut(s), x), neg(z.partition_mut(s), y)).sync()"),
    "zip of a writer and a reader": Program(
        "zip!(neg(z.mut_(), &x), neg(w.mut_(), &z));", "E0502",
        "tw.zip(neg(z.partition_mut(s), x), neg(w.partition_mut(s), z)).sync()"),
    "a shared op": Program(
        "let op = zeros(s).shared(); op.clone().sync(); op.sync();", "ok",
        "op = tw.zeros((4, 4)).shared()\nop.sync()\nop.sync()"),
    "a shared op that borrows": Program(
        "let op = neg(z.mut_(), &x).shared(); op.sync();", "E0521",
        "op = neg(z.partition_mut(s), x).shared()\nop.sync()", STATIC),
    "an input of a zip that is shared": Program(
        "let op = zip!(neg(z.mut_(), &x), ones(s)).shared(); op.sync(); x.read();", "E0521",
        "op = tw.zip(neg(z.partition_mut(s), x), tw.ones((4, 4))).shared()\nop.sync()\n"
        "x.to_numpy()", STATIC),
    "an input of a shared op": Program(
        "let op = neg(z.mut_(), &x).shared(); op.sync(); x.read();", "E0521",
        "op = neg(z.partition_mut(s), x).shared()\nop.sync()\nx.to_numpy()", STATIC),
    "spawned with a borrow": Program(
        "spawn(neg(z.mut_(), &x));", "E0521",
        "tw.spawn(neg(z.partition_mut(s), x)).result()"),
    "spawned with what it owns": Program(
        "spawn(neg(zeros(s).partition(s), x));", "ok",
        "tw.spawn(neg(tw.zeros((4, 4)).partition(s), tw.move(x))).result()"),
}  # fmt: skip

IN_FLIGHT = {
    "written and read by two futures": Program(
        "let a = neg(z.mut_(), &x).into_future(); let b = neg(w.mut_(), &z).into_future();",
        "E0502",
        "a = neg(z.partition_mut(s), x).into_future()\n"
        "b = neg(w.partition_mut(s), z).into_future()\n"
        "b.result()", ORDERED),
    "read while it is written": Program(
        "let a = neg(z.mut_(), &x).into_future(); z.read(); a.await;", "E0502",
        "a = neg(z.partition_mut(s), x).into_future()\nz.to_numpy()\na.result()",
        ORDERED),
    "written while it is read": Program(
        "let a = neg(z.mut_(), &x).into_future(); neg(x.mut_(), &y).sync(); a.await;", "E0502",
        "a = neg(z.partition_mut(s), x).into_future()\nneg(x.partition_mut(s), y).sync()\n"
        "a.result()", ORDERED),
    "moved while it is written": Program(
        "let a = neg(z.mut_(), &x).into_future(); let y = z; a.await;", "E0505",
        "a = neg(z.partition_mut(s), x).into_future()\nkept = tw.move(z)\na.result()",
        ORDERED),
    "read after the future was dropped": Program(
        "drop(neg(z.mut_(), &x).into_future()); z.read();", "ok",
        "neg(z.partition_mut(s), x).into_future()\nz.to_numpy()"),
    "read after the future": Program(
        "neg(z.mut_(), &x).into_future().await; z.read();", "ok",
        "neg(z.partition_mut(s), x).into_future().result()\nz.to_numpy()"),
}  # fmt: skip

PROGRAMS = MOVES | SHARED | EXCLUSIVE | PARTS | ARCS | SLICES | OPS | IN_FLIGHT
