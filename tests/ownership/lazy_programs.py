"""More programs with rustc's verdict: launches and ops that are given ops, and what is spawned."""

from __future__ import annotations

from ownership.programs import CAPTURED, PROGRAMS, REGIONS, Program

# Beside the names of `programs`: `lazy()` is an op that gives a partition of a new tensor,
# `whole` writes its first argument, of which nothing is cut, and reads its second.

LAZY = {
    "an input beside a lazy output": Program(
        "let op = neg(zeros(s).partition(s), &x); fill(&mut x, 5).sync(); op.sync();", "E0502",
        "op = neg(lazy(), x)\ntw.fill(x, 5).sync()\nop.sync()"),
    "an input read beside a lazy output": Program(
        "let op = neg(zeros(s).partition(s), &x); x.read(); op.sync();", "ok",
        "op = neg(lazy(), x)\nx.to_numpy()\nop.sync()"),
    "a forgotten launch with a lazy output": Program(
        "let _op = neg(zeros(s).partition(s), &x); fill(&mut x, 5).sync();", "ok",
        "op = neg(lazy(), x)\ntw.fill(x, 5).sync()\nop.close()"),
    "an input moved beside a lazy output": Program(
        "let op = neg(zeros(s).partition(s), &x); let y = x; op.sync();", "E0505",
        "op = neg(lazy(), x)\nkept = tw.move(x)\nop.sync()"),
    "an input that was moved, beside a lazy output": Program(
        "let y = x; let op = neg(zeros(s).partition(s), &x);", "E0382",
        "kept = tw.move(x)\nneg(lazy(), x)"),
    "a view beside a lazy output": Program(
        "let op = add(zeros(s).partition(s), &x[..], &y); fill(&mut x, 5).sync(); op.sync();",
        "E0502",
        "op = add(lazy(), x[:], y)\ntw.fill(x, 5).sync()\nop.sync()"),
    "a part written beside a lazy output": Program(
        "let m = &mut x[2..]; let op = neg(zeros(t).partition(s), &x[..2]); fill(m, 5).sync();",
        "E0502",
        "m = x.borrow_mut()[2:]\nop = neg(tw.zeros((2, 4)).partition(s), x[:2])\n"
        "tw.fill(m, 5).sync()\nop.sync()", REGIONS),
    "an Arc beside a lazy output": Program(
        "let op = neg(zeros(s).partition(s), a); let t = Arc::try_unwrap(a).unwrap(); op.sync();",
        "E0382",
        "a = tw.Arc(x)\nop = neg(lazy(), a)\nt = a.unwrap_arc()\nop.sync()"),
    "an array beside a lazy output": Program(
        "let op = neg(zeros(s).partition(s), &h); fill(&mut h, 5).sync(); op.sync();", "E0502",
        "h = np.ones((4, 4), 'f4')\nop = neg(lazy(), h)\ntw.fill(tw.asarray(h), 5).sync()\n"
        "op.sync()"),
    "an output beside a lazy input": Program(
        "let op = neg(z.mut_(), ones(s)); z.read(); op.sync();", "E0502",
        "op = neg(z.partition_mut(s), tw.ones((4, 4)))\nz.to_numpy()\nop.sync()"),
    "an output in turn beside a lazy input": Program(
        "neg(z.mut_(), ones(s)).sync(); z.read();", "ok",
        "neg(z.partition_mut(s), tw.ones((4, 4))).sync()\nz.to_numpy()"),
    "an output moved beside a lazy input": Program(
        "let op = neg(z.partition(s), ones(s)); z.read();", "E0382",
        "op = neg(z.partition(s), tw.ones((4, 4)))\nz.to_numpy()"),
    "two launches of one partition with lazy inputs": Program(
        "let a = neg(&mut p, ones(s)); let b = neg(&mut p, ones(s)); b.sync(); a.sync();", "E0499",
        "p = z.partition_mut(s)\na = neg(p, tw.ones((4, 4)))\nb = neg(p, tw.ones((4, 4)))\n"
        "b.sync()\na.sync()"),
    "written and read at once beside a lazy input": Program(
        "add(z.mut_(), &z, ones(s));", "E0502",
        "add(z.partition_mut(s), z, tw.ones((4, 4)))"),
    "an op writes what its launch reads": Program(
        "add(w.mut_(), &x, fill(&mut x, 5));", "E0502",
        "add(w.partition_mut(s), x, tw.fill(x, 5))"),
    "an op reads what its launch writes": Program(
        "neg(z.mut_(), neg(w.mut_(), &z).out());", "E0502",
        "neg(z.partition_mut(s), neg(w.partition_mut(s), z).out())"),
    "an op reads what its launch reads": Program(
        "add(z.mut_(), &x, neg(w.mut_(), &x).out()).sync();", "ok",
        "add(z.partition_mut(s), x, neg(w.partition_mut(s), x).out()).sync()"),
    "a chain behind a lazy launch": Program(
        "let op = neg(zeros(s).partition(s), &x).out().map(f); fill(&mut x, 5).sync(); op.sync();",
        "E0502",
        "op = neg(lazy(), x).out().map(len)\ntw.fill(x, 5).sync()\nop.sync()"),
    "a kernel that writes a whole lazy tensor": Program(
        "let op = whole(zeros(s), &x); fill(&mut x, 5).sync(); op.sync();", "E0502",
        "op = whole(tw.zeros((4, 4)), x)\ntw.fill(x, 5).sync()\nop.sync()"),
    "a whole tensor written beside a lazy input": Program(
        "let op = whole(&mut z, ones(s)); z.read(); op.sync();", "E0502",
        "op = whole(z.borrow_mut(), tw.ones((4, 4)))\nz.to_numpy()\nop.sync()"),
    "a whole tensor moved beside a lazy input": Program(
        "let op = whole(z, ones(s)); z.read();", "E0382",
        "op = whole(tw.move(z), tw.ones((4, 4)))\nz.to_numpy()"),
    "a copy of a lazy source": Program(
        "let op = memcpy(&mut z, ones(s)); z.read(); op.sync();", "E0502",
        "op = tw.memcpy(z, tw.ones((4, 4)))\nz.to_numpy()\nop.sync()"),
}  # fmt: skip

VALUES = {
    "a value of what is written": Program(
        "let v = value(&x); fill(&mut x, 5).sync(); v.sync();", "E0502",
        "v = tw.value(x)\ntw.fill(x, 5).sync()\nv.sync()"),
    "a value of what is read": Program(
        "let v = value(&x); x.read(); v.sync().read();", "ok",
        "v = tw.value(x)\nx.to_numpy()\nv.sync().to_numpy()"),
    "a value of a pair": Program(
        "let v = value((&x, &y)); fill(&mut y, 5).sync(); v.sync();", "E0502",
        "v = tw.value((x, y))\ntw.fill(y, 5).sync()\nv.sync()"),
    "a value of a partition": Program(
        "let v = value(z.mut_()); z.read(); v.sync();", "E0502",
        "v = tw.value(z.partition_mut(s))\nz.to_numpy()\nv.sync()"),
    "a partition beside its value": Program(
        "let v = value(p); neg(p, &x).sync(); v.sync();", "E0382",
        "p = z.partition_mut(s)\nv = tw.value(p)\nneg(p, x).sync()\nv.sync()"),
    "a partition out of its value": Program(
        "neg(value(z.mut_()), value(&x)).sync(); z.read();", "ok",
        "neg(tw.value(z.partition_mut(s)), tw.value(x)).sync()\nz.to_numpy()"),
    "a shared value of what is written": Program(
        "let v = shared(&x); fill(&mut x, 5).sync(); v.sync();", "E0502",
        "v = tw.shared(x)\nv.sync()\ntw.fill(x, 5).sync()\nv.sync()"),
    "a zip with what is written": Program(
        "let op = zip!(zeros(s).partition(s), &x).then(neg); fill(&mut x, 5).sync(); op.sync();",
        "E0502",
        "op = tw.zip(lazy(), x).then(neg)\ntw.fill(x, 5).sync()\nop.sync()"),
    "a zip of a partition and its tensor": Program(
        "zip!(z.mut_(), &z);", "E0502",
        "tw.zip(z.partition_mut(s), z)"),
    "a zip of one partition twice": Program(
        "zip!(p, p);", "E0382",
        "p = z.partition_mut(s)\ntw.zip(p, p)"),
    "a zip of a lazy launch and a writer": Program(
        "zip!(neg(zeros(s).partition(s), &x), fill(&mut x, 5));", "E0502",
        "tw.zip(neg(lazy(), x), tw.fill(x, 5))"),
    "an argument bound to a function": Program(
        "let op = zeros(s).partition(s).then(neg, &x); fill(&mut x, 5).sync(); op.sync();",
        "E0502",
        "op = lazy().then(neg, x)\ntw.fill(x, 5).sync()\nop.sync()"),
    "what a function captures": Program(
        "let op = zeros(s).partition(s).then(|p| neg(p, &x)); fill(&mut x, 5).sync(); op.sync();",
        "E0502",
        "op = lazy().then(lambda p: neg(p, x))\ntw.fill(x, 5).sync()\nop.sync()", CAPTURED),
    "one of several results": Program(
        "let (a, b) = zip!(ones(s), ones(s)).unzip(); a.unwrap_arc().sync(); b.sync();", "ok",
        "a, b = tw.zip(tw.ones((4, 4)), tw.ones((4, 4))).unzip()\na.unwrap_arc().sync()\nb.sync()"),
    "the only user of a shared op": Program(
        "neg(ones(s).shared().try_partition(s), &x).sync();", "ok",
        "neg(tw.ones((4, 4)).shared().try_partition(s), x).sync()"),
    "one of two users of a shared op": Program(
        "let op = ones(s).shared(); op.clone().try_partition(s).sync();", "panics",
        "op = tw.ones((4, 4)).shared()\nop.try_partition(s).sync()"),
}  # fmt: skip

FORMS = {
    "an Arc in another shape": Program(
        "let b = (&a).reshape([16]); drop(a); b.read();", "ok",
        "a = tw.Arc(x)\nb = a.reshape(16)\ndel a\nb.to_numpy()"),
    "unwrapped beside another shape": Program(
        "let b = (&a).reshape([16]); Arc::try_unwrap(a).unwrap();", "panics",
        "a = tw.Arc(x)\nb = a.reshape(16)\na.unwrap_arc()"),
    "unwrapped in another shape": Program(
        "let b = a.reshape([16]); Arc::try_unwrap(b).unwrap().read();", "ok",
        "a = tw.Arc(x)\nb = a.reshape(16)\ndel a\nassert b.unwrap_arc().shape == (16,)"),
    "content after it was unwrapped in another shape": Program(
        "let v = &*a; let t = Arc::try_unwrap(a.reshape([16])).unwrap(); v.read();", "E0505",
        "a = tw.Arc(x)\nv = a.value\nb = a.reshape(16)\ndel a\nt = b.unwrap_arc()\nv.to_numpy()"),
}  # fmt: skip

SPAWNED = {
    "spawned with a lazy output": Program(
        "spawn(neg(zeros(s).partition(s), &x));", "E0521",
        "tw.spawn(neg(lazy(), x))"),
    "spawned with an array": Program(
        "spawn(neg(zeros(s).partition(s), &h));", "E0521",
        "tw.spawn(neg(lazy(), np.ones((4, 4), 'f4')))"),
    "a spawned fill": Program(
        "spawn(fill(&mut z, 5));", "E0521",
        "tw.spawn(tw.fill(z, 5))"),
    "a spawned fill of what it owns": Program(
        "spawn(fill(z, 5));", "ok",
        "tw.spawn(tw.fill(tw.move(z), 5)).result()"),
    "a spawned conversion": Program(
        "spawn(convert(&x, I32));", "E0521",
        "tw.spawn(tw.convert(x, tw.i32))"),
    "a spawned conversion of what it owns": Program(
        "spawn(convert(x, I32));", "ok",
        "tw.spawn(tw.convert(tw.move(x), tw.i32)).result()"),
    "a spawned copy": Program(
        "spawn(x.dup());", "E0521",
        "tw.spawn(x.dup())"),
    "a spawned value": Program(
        "spawn(value(&x));", "E0521",
        "tw.spawn(tw.value(x))"),
    "a spawned value of what it owns": Program(
        "spawn(value(x));", "ok",
        "tw.spawn(tw.value(tw.move(x))).result()"),
    "spawned with values that borrow": Program(
        "spawn(neg(value(z.mut_()), value(&x)));", "E0521",
        "tw.spawn(neg(tw.value(z.partition_mut(s)), tw.value(tw.Arc(x))))"),
    "a spawned zip": Program(
        "spawn(zip!(zeros(s).partition(s), &x).then(neg));", "E0521",
        "tw.spawn(tw.zip(lazy(), x).then(neg))"),
    "a spawned zip of what it owns": Program(
        "spawn(zip!(zeros(s).partition(s), a).then(neg));", "ok",
        "tw.spawn(tw.zip(lazy(), tw.Arc(x)).then(neg)).result()"),
    "spawned with a bound argument": Program(
        "spawn(zeros(s).partition(s).then(neg, &x));", "E0521",
        "tw.spawn(lazy().then(neg, x))"),
    "spawned with a shared value": Program(
        "spawn(neg(zeros(s).partition(s), shared(&x)));", "E0521",
        "tw.spawn(neg(lazy(), tw.shared(x)))"),
    "spawned with a shared op that has run": Program(
        "let op = neg(z.mut_(), &x).shared(); op.clone().sync(); spawn(op.then(neg));", "E0521",
        "op = neg(z.partition_mut(s), x).shared()\nop.sync()\ntw.spawn(op.then(neg))"),
    "spawned with one of several results": Program(
        "let (p, v) = neg(z.mut_(), &x).unzip(); p.sync(); spawn(v.map(f));", "E0521",
        "p, v = neg(z.partition_mut(s), x).unzip()\np.sync()\ntw.spawn(v.map(len))"),
    "spawned with a whole tensor": Program(
        "spawn(whole(&mut z, ones(s)));", "E0521",
        "tw.spawn(whole(z.borrow_mut(), tw.ones((4, 4))))"),
    "spawned with a whole input": Program(
        "spawn(whole(zeros(s), &x));", "E0521",
        "tw.spawn(whole(tw.zeros((4, 4)), x))"),
    "spawned with whole tensors that it owns": Program(
        "spawn(whole(z, a));", "ok",
        "tw.spawn(whole(tw.move(z), tw.Arc(x))).result()"),
    "spawned with an Arc in another shape": Program(
        "spawn(neg(zeros(s).partition(s), a.reshape(t)));", "ok",
        "a = tw.Arc(x.dup().reshape(16).sync())\n"
        "tw.spawn(neg(lazy(), a.reshape((4, 4)))).result()"),
    "a spawned graph": Program(
        "let g = neg(zeros(s).partition(s), a).graph(); spawn(g.launch());", "E0521",
        "g = neg(lazy(), tw.Arc(x)).graph()\ntw.spawn(g.launch())"),
}  # fmt: skip

ALL = PROGRAMS | LAZY | VALUES | FORMS | SPAWNED
