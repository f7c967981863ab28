# SPDX-License-Identifier: Apache-2.0
"""Mistakes get texts that say what to do and harm no world; faults get exceptions that name the ranks."""
import os
import signal
import subprocess
import sys
import time
import unittest

import ranks

LACKS_NUMPY = ranks.lacks("numpy", "python3-numpy")
if not LACKS_NUMPY:
    import numpy as np


def refused(kind, text, function, *arguments, **options):
    """Checks that a call raises this kind of exception with this text."""
    try:
        function(*arguments, **options)
    except kind as error:
        assert text in str(error), f"{text!r} is not in {str(error)!r}"
        return error
    raise AssertionError(f"nothing was raised: {text}")


def refusals():
    import tutti_collectives as tutti
    with tutti.join() as world:
        size, x = world.size, np.ones((4, 6))
        refused(ValueError, "pass x.copy()", world.allreduce, x[:, ::2])
        refused(ValueError, "shape (6, 4), strides (8, 48)", world.allreduce, x.T)
        refused(ValueError, "pass out.copy()", world.allreduce, x[:, :3].copy(), out=x[:, ::2])
        packed = np.zeros(3, np.dtype([("tag", "i1"), ("value", "f8")]))
        refused(ValueError, "not contiguous and aligned", world.broadcast, packed["value"])
        refused(TypeError, "float64", world.allreduce, np.array([1, None]))
        refused(TypeError, "arrays of dtype object cannot be sent", world.allgather, np.array([1, None]))
        refused(TypeError, "arrays of dtype >f8 cannot be combined", world.allreduce, x.astype(">f8"))
        refused(TypeError, "x.astype()", world.scan, np.zeros(2, "datetime64[s]"))
        refused(ValueError, "out has dtype float32 and shape (4, 6), and not float64 and (4, 6)",
                world.allreduce, x, out=x.astype("f4"))
        refused(ValueError, "shape (3,)", world.allreduce, x, out=np.empty(3))
        refused(TypeError, "out is a list, which has no memory", world.allreduce, x, out=[0.0] * 24)
        refused(TypeError, "x is a int", world.broadcast, 3, root=(world.rank + 1) % size)
        frozen = np.ones(2)
        frozen.flags.writeable = False
        refused(ValueError, "read-only", world.allreduce, frozen, out=frozen)
        refused(ValueError, "there is no operator 'avg': op is one of sum, prod", world.allreduce, x, "avg")
        error = refused(tutti.Error, 'float64 has no reduction "bit_or"', world.allreduce, x, "bit_or")
        assert error.kind is tutti.Kind.MISUSE and error.text == str(error) and error.ranks == ()
        refused(tutti.Error, 'complex64 has no reduction "max"', world.allreduce, np.zeros(2, "c8"), "max")
        flat = np.zeros(8)
        refused(tutti.Error, "overlap", world.allreduce, flat[:6], out=flat[2:])
        refused(ValueError, f"there is no rank {size}: the ranks of world are 0 to {size - 1}", world.reduce, x,
                root=size)
        refused(ValueError, "there is no rank -1", world.send, x, -1)
        refused(TypeError, "float", world.gather, x, 0.0)
        refused(TypeError, "float", world.scatter, x, x, 0.0)
        refused(TypeError, "float", world.broadcast, x, 0.0)
        refused(ValueError, "the numbers of rows", world.allgather, x, lengths=[4])
        refused(ValueError, "the numbers of rows", world.allgather, x, lengths=[-1] * size)
        refused(ValueError, "the numbers of rows", world.reduce_scatter, x, lengths=[])
        refused(ValueError, "the numbers of rows", world.alltoall, x, [4], [4] * size)
        refused(TypeError, "float", world.allgather, x, lengths=[4.5] * size)
        refused(ValueError, "pass both", world.alltoall, x, [1] * size)
        refused(ValueError, "pass both", world.alltoall, x, incoming=[1] * size)
        refused(ValueError, f"lengths[{world.rank}] is 3, and the block of this rank has the shape (4, 6)",
                world.allgather, x, lengths=[3] * size)
        refused(ValueError, "the block of this rank has the shape ()", world.gather, 3.0, lengths=[1] * size)
        refused(ValueError, "x has dtype float64 and shape (4, 6), and not", world.alltoall, x, [9] * size, [9] * size)
        refused(ValueError, "has to have rows", world.reduce_scatter, 3.0)
        refused(ValueError, "the colour is -1", world.split, -1)
        if world.rank == 0:
            refused(ValueError, "x has dtype int64", world.scatter, np.zeros((size, 2), "i8"), np.empty(2))
        assert world.allreduce(1) == size  # mistakes do not harm the world
        pending = world.allreduce(1, start=True)
        assert isinstance(pending, tutti.Pending) and pending.wait() == size
        world.leave()
        refused(ValueError, "this rank has left world", world.allreduce, x)
        refused(ValueError, "this rank has left world", world.abort, "late")
        refused(ValueError, "this rank has left world", world.dup)


def differences(kind):
    """Ranks whose calls differ: each of them, or its peers, get an error with both calls."""
    import tutti_collectives as tutti
    with tutti.join() as world:
        calls = {
            "shapes": lambda: world.allreduce(np.ones(3 + world.rank)),
            "dtypes": lambda: world.allreduce(np.ones(3, ("f4", "f8")[world.rank])),
            "operators": lambda: world.allreduce(np.ones(3), ("sum", "max")[world.rank]),
            "operations": lambda: world.allreduce(1) if world.rank else world.scan(1),
            "messages": lambda: world.send(np.ones(3), 1) if world.rank == 0 else world.recv(np.empty(2), 0),
        }
        error = None
        try:
            calls[kind]()
            world.barrier()
        except tutti.Error as caught:
            error = caught
        assert error is not None and error.kind is tutti.Kind.MISMATCH, error
        assert error.rank == world.rank and world.rank not in error.ranks and error.sequence >= 0, vars(error)
        again = refused(tutti.Error, "", world.allreduce, 1)  # the world has failed
        assert again.kind is tutti.Kind.MISMATCH
        print(error.text)


def killed(how):
    """Rank 1 is killed; the others get an error that names it."""
    import pickle

    import tutti_collectives as tutti
    world = tutti.join()
    if world.rank == 1:
        for _ in range(world.size - 1):
            world.recv_any(np.empty(1))  # from ranks that have joined
        os.kill(os.getpid(), signal.SIGKILL)
    world.send(np.ones(1), 1)
    begin = time.monotonic()
    pending = world.allreduce(np.ones(10_000), start=True) if how == "started" else None
    error = refused(tutti.Error, "rank 1", pending.wait if pending else world.barrier)
    assert time.monotonic() - begin < 5
    assert error.kind is tutti.Kind.PEER_LOST and error.ranks == (1,) and error.rank == world.rank, vars(error)
    assert error.operation.startswith("allreduce(sum float64 x 10000" if pending else "barrier"), error.operation
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, tutti.Error) and vars(copy) == vars(error)
    if pending:
        assert pending.done() and refused(tutti.Error, "rank 1", pending.wait) is error
    print(error)


def aborted():
    import tutti_collectives as tutti
    with tutti.join() as world:
        def barriers():
            world.barrier()
            if world.rank == 1:
                world.abort("no more data")
            world.barrier()

        error = refused(tutti.Error, "no more data", barriers)
        assert error.kind is tutti.Kind.ABORTED and error.ranks == (1,), vars(error)


def late():
    import tutti_collectives as tutti
    with tutti.join(deadline=30) as world, world.dup() as other:
        world.set_deadline(3)
        if world.rank == 0:
            pending = world.allreduce(1, start=True)
            assert not pending.done()
            refused(TimeoutError, "not ended within 0.01 s, and continues", pending.wait, timeout=0.01)
            refused(TimeoutError, "and continues", pending.wait, timeout=0)
            error = refused(tutti.Error, "", pending.wait, timeout=30)
            assert error.kind is tutti.Kind.DEADLINE, error.kind
        other.barrier()


def cancelled():
    import tutti_collectives as tutti
    with tutti.join() as world:
        pending = world.recv(np.empty(3), 1 - world.rank, start=True)
        if world.rank == 0:
            world.barrier()
            pending.cancel()
        else:
            error = refused(tutti.Error, "rank 0", lambda: (world.barrier(), pending.wait()))
            assert error.kind in (tutti.Kind.CANCELLED, tutti.Kind.PEER_LOST) and error.ranks == (0,), vars(error)


def interrupted():
    """Ctrl-C ends a call that waits."""
    import tutti_collectives as tutti
    with tutti.join() as world:
        if world.rank == 1:
            refused(tutti.Error, "rank 0", lambda: (world.barrier(), world.recv(np.empty(1), 0)))
            return
        world.barrier()
        try:
            print("waits", flush=True)
            world.recv(np.empty(1), 1)
        except KeyboardInterrupt:
            print("interrupted")


def forked():
    """A child that leaves the world of its parent, drops its operations or ends does no harm to it."""
    import tutti_collectives as tutti
    world = tutti.join()
    for leaves in (lambda: None, lambda: os._exit(0), world.leave, pendings.clear):
        pendings.append(world.allreduce(np.ones(100_000), start=True))
        child = os.fork()
        if child == 0:
            refused(tutti.Error, "has forked", world.allreduce, 1)
            leaves()
            sys.exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert (pendings.pop().wait() == world.size).all()
        assert world.allreduce(1) == world.size


pendings = []


def pools():
    """Processes of a pool, forked while a world exists, end normally, and the world continues."""
    import multiprocessing

    import tutti_collectives as tutti
    with tutti.join() as world:
        with multiprocessing.get_context("fork").Pool(2) as pool:
            total = world.allreduce(sum(pool.map(abs, [-1, -2, -3])))
        assert total == 6 * world.size


def threads():
    """With background, threads call one world."""
    from concurrent.futures import ThreadPoolExecutor

    import tutti_collectives as tutti
    with tutti.join(background=True) as world, ThreadPoolExecutor(2) as pool:
        peer = (world.rank + 1) % world.size
        for i in range(20):
            received = pool.submit(world.recv, np.empty(3), peer)
            world.send(np.full(3, float(i)), peer)
            total = world.allreduce(np.ones(3), start=True)
            assert (received.result(30) == i).all() and total.wait()[0] == world.size


def refused_join():
    import tutti_collectives as tutti
    refused(tutti.Error, 'there is no transport "pigeons"', tutti.join, transport="pigeons")
    error = refused(tutti.Error, "", tutti.join, topology="no-such-topology")
    assert error.kind is tutti.Kind.MISUSE and error.rank is None, vars(error)
    world = tutti.join(deadline=1e10)
    world.set_deadline(1e10)
    assert (world.rank, world.size) == (0, 1) and world.allreduce([1.0])[0] == 1


@unittest.skipIf(LACKS_NUMPY, "no numpy")
class Mistakes(unittest.TestCase):
    def on_ranks(self, case, size, *arguments, **options):
        return ranks.run(self, __file__, case, size, *arguments, **options)

    def test_refusals(self):
        for size in (2, 3):
            self.on_ranks("refusals", size)

    def test_calls_that_differ(self):
        for kind, words in (("shapes", "float64 x 4"), ("dtypes", "float32 x 3"), ("operators", "max"),
                            ("operations", "scan"), ("messages", "float64 x ")):
            with self.subTest(kind):
                outputs = self.on_ranks("differences", 2, kind)
                self.assertTrue(any(words in output for output in outputs), outputs)

    def test_killed_rank(self):
        for how in ("blocking", "started"):
            with self.subTest(how):
                self.on_ranks("killed", 3, how, fails=[1])

    def test_abort(self):
        self.on_ranks("aborted", 3)

    def test_deadline(self):
        self.on_ranks("late", 2)

    def test_cancel(self):
        self.on_ranks("cancelled", 2)

    def test_fork(self):
        self.on_ranks("forked", 2)
        self.on_ranks("pools", 2)

    def test_threads(self):
        self.on_ranks("threads", 2)

    def test_join(self):
        self.on_ranks("refused_join", 1)

    def test_interrupt(self):
        with ranks.Ranks(__file__, "interrupted", 2) as pair:
            self.assertEqual(next(pair.lines(0)), "waits")
            pair.processes[0].send_signal(signal.SIGINT)
            (status, output), (other, text) = pair.results()
        self.assertEqual((status, output.strip(), other), (0, "interrupted", 0), output + text)

    def test_missing_library(self):
        for library, text in (("/no/such/libtutti_c.so", "the C library cannot be loaded: "),
                              ("libc.so.6", "is not tutti's C library")):
            ended = subprocess.run([sys.executable, "-c", "import tutti_collectives"], capture_output=True, text=True,
                                   env=ranks.environment(TUTTI_LIBRARY=library), timeout=ranks.LIMIT)
            self.assertEqual(ended.returncode, 1)
            self.assertIn(text, ended.stderr)
            self.assertIn("pip install .", ended.stderr)


if __name__ == "__main__":
    ranks.main(globals())
