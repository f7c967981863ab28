# SPDX-License-Identifier: Apache-2.0
"""Operations on NumPy arrays give NumPy's own results, for each dtype, operator and number of ranks."""
import unittest
from functools import reduce

import ranks

LACKS_NUMPY = ranks.lacks("numpy", "python3-numpy")
if not LACKS_NUMPY:
    import numpy as np

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REALS = ("float16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
NUMBERS = (*INTEGERS, *REALS, *COMPLEX)
ALL = (*NUMBERS, "bool")
RECORD = [("place", "i4"), ("value", "f8")]
MOVED = (*ALL, "datetime64[ns]", ">f4", "S5", "U3", "V7")


def operators():
    """Returns the operators: NumPy's function, and the dtypes that it is defined for."""
    return {
        "sum": (np.add, NUMBERS), "prod": (np.multiply, NUMBERS),
        "min": (np.minimum, (*INTEGERS, *REALS)), "max": (np.maximum, (*INTEGERS, *REALS)),
        "mean": (np.add, REALS),
        "logical_and": (np.logical_and, (*INTEGERS, "bool")), "logical_or": (np.logical_or, (*INTEGERS, "bool")),
        "logical_xor": (np.logical_xor, (*INTEGERS, "bool")),
        "bit_and": (np.bitwise_and, (*INTEGERS, "bool")), "bit_or": (np.bitwise_or, (*INTEGERS, "bool")),
        "bit_xor": (np.bitwise_xor, (*INTEGERS, "bool"))}


def arrays(world, dtype, shape, seed=0):
    """Returns the arrays of all ranks: small numbers, whose sums and products are exact in each dtype."""
    made = []
    for rank in range(world.size):
        numbers = np.random.default_rng([seed, rank]).integers(0, 4, shape)
        if dtype in COMPLEX:
            numbers = numbers + 1j * np.flip(numbers)
        numbers = np.asarray(numbers)
        made.append(numbers.astype("i8").astype("u1").astype(dtype) if dtype in ("S5", "U3") else
                    numbers.astype(dtype, order="C"))
    return made


def same(found, expected):
    assert found.dtype == expected.dtype, (found.dtype, expected.dtype)
    assert found.shape == expected.shape, (found.shape, expected.shape)
    equal = np.array_equal if found.dtype.kind == "c" else lambda a, b: a.tobytes() == b.tobytes()  # signs of zeros
    assert equal(found, expected), (found, expected)


def on_root(is_root, check, found, expected):
    if is_root:
        check(found, expected)
    else:
        assert found is None, found


def each_operator(world):
    for op, (function, dtypes) in operators().items():
        for dtype in dtypes:
            for shape in ((), (7,), (5, 3), (0,), (3000,)):
                yield op, dtype, shape, function, arrays(world, dtype, shape)


def combined(op, function, given):
    dtype = given[0].dtype
    given = [x.astype(bool) for x in given] if op.startswith("logical") else given
    total = reduce(function, given)
    return np.asarray(total / len(given) if op == "mean" else total, dtype)


def reductions():
    import tutti_collectives as tutti
    with tutti.join() as world:
        rank = world.rank
        for op, dtype, shape, function, given in each_operator(world):
            x, total = given[rank], combined(op, function, given)
            before = x.copy()
            check = same if op != "mean" else lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-3)
            check(world.allreduce(x, op), total)
            out = np.empty_like(x)
            assert world.allreduce(x, op=getattr(tutti, op.upper()), out=out) is out
            check(out, total)
            check(world.allreduce(x, op, start=True).wait(), total)
            root = world.size - 1
            on_root(rank == root, check, world.reduce(x, op, root), total)
            same(x, before)
            if op != "mean":
                same(world.scan(x, op), combined(op, function, given[:rank + 1]))
                found = world.exscan(x, op)
                if rank:
                    same(found, combined(op, function, given[:rank]))
                else:
                    assert found is None
            if shape:
                check(world.reduce_scatter(x, op), np.array_split(total, world.size)[rank])
                lengths = [0] * (world.size - 1) + [len(x)]
                check(world.reduce_scatter(x, op, lengths=lengths), total if rank == root else total[:0])
            assert world.allreduce(x, op, out=x) is x
            check(x, total)
        x = np.full(3, 5.0)
        assert (world.exscan(np.ones(3), out=x) == (rank or 5.0)).all()
        whole = arrays(world, "int32", (2 * world.size + 1, 3))
        blocks = np.array_split(whole[rank], world.size)
        same(world.reduce_scatter(whole[rank], out=blocks[rank]), np.array_split(sum(
            arrays(world, "int32", (2 * world.size + 1, 3))), world.size)[rank])


def moves():
    import tutti_collectives as tutti
    with tutti.join() as world:
        rank, size = world.rank, world.size
        for dtype in (*MOVED, RECORD):
            for shape in ((), (2,), (3, 2), (0,), (700,)):
                given = arrays(world, dtype if isinstance(dtype, str) else "i4", shape)
                given = given if isinstance(dtype, str) else [x.astype(RECORD) for x in given]
                x, dtype_ = given[rank], given[0].dtype
                stack, concatenate = (lambda parts, join=join: join(parts).astype(dtype_)  # keeps the byte order
                                      for join in (np.stack, np.concatenate))
                stacked = stack(given)
                same(world.allgather(x), stacked)
                whole = np.zeros_like(stacked)
                whole[rank] = x
                assert world.allgather(whole[rank, ...], out=whole) is whole
                same(whole, stacked)
                for root in range(size):
                    on_root(rank == root, same, world.gather(x, root), stacked)
                    same(world.scatter(stacked if rank == root else None, np.empty(shape, dtype_), root), x)
                    same(world.broadcast(x.copy() if rank == root else np.empty(shape, dtype_), root), given[root])
                same(world.allgather(x, start=True).wait(), stacked)
                each = [stack([np.roll(x, i) for i in range(size)]) for x in given]
                same(world.alltoall(each[rank]), stack([x[rank] for x in each]))
                out = np.empty(shape, dtype_)
                received, = world.exchange([(x, (rank + 1) % size)], [(out, (rank - 1) % size)])
                assert received is out
                same(out, given[rank - 1])
                if shape:
                    lengths = [2 * r % 3 for r in range(size)]
                    rows = concatenate([x, x, x])[:lengths[rank]] if len(x) else x
                    if len(x) > 1:
                        parts = [concatenate([x, x, x])[:n] for x, n in zip(given, lengths)]
                        joined = concatenate(parts)
                        same(world.allgather(rows, lengths), joined)
                        root = size - 1
                        on_root(rank == root, same, world.gather(rows, root, lengths), joined)
                        same(world.scatter(joined if rank == root else None, np.empty_like(rows), root, lengths), rows)
                    uneven = [np.array_split(x, size) for x in given]
                    same(world.alltoall(x), concatenate([blocks[rank] for blocks in uneven]))
                    outgoing = [len(x) if r == (rank + 1) % size else 0 for r in range(size)]
                    incoming = [len(x) if r == (rank - 1) % size else 0 for r in range(size)]
                    same(world.alltoall(x, outgoing, incoming), given[rank - 1])
        world.barrier()
        world.barrier(start=True).wait()


def messages():
    import tutti_collectives as tutti
    with tutti.join() as world:
        rank, size = world.rank, world.size
        if rank == 0:
            found = {}
            for _ in range(size - 1):
                out, sender = world.recv_any(np.empty(3))
                found[sender] = out.tolist()
            assert found == {r: [r, r, r] for r in range(1, size)}, found
            world.barrier()
            pending = [world.recv_any(np.empty(1, "i4"), start=True) for _ in range(size - 1)]
            assert sorted(int(out[0]) for out, sender in (one.wait() for one in pending)) == list(range(1, size))
            world.barrier()
            for r in range(1, size):
                same(world.recv(np.empty((2, 2)), r), np.full((2, 2), float(r)))
                world.send(np.arange(r), r)
        else:
            world.send(np.full(3, float(rank)), 0)
            world.barrier()
            world.send(np.full(1, rank, "i4"), 0)
            world.barrier()
            pending = world.send(np.full((2, 2), float(rank)), 0, start=True)
            same(world.recv(np.empty(rank, int), 0), np.arange(rank))
            pending.wait()
            assert pending.done()


def parts():
    import tutti_collectives as tutti
    with tutti.join(role="tester", deadline=30) as world:
        rank, size = world.rank, world.size
        half = world.split(rank % 2, key=-rank)
        assert half.size == len(range(rank % 2, size, 2))
        assert half.allgather(rank).tolist() == list(range(rank % 2, size, 2))[::-1]
        with world.dup() as copy:
            assert (copy.rank, copy.size) == (rank, size) and copy.name != world.name
            first, second = world.allreduce(1, start=True), copy.allreduce(2, start=True)
            assert (second.wait(), first.wait()) == (2 * size, size)
        alone = world.split(None if rank else 7)
        assert (alone is None) == (rank > 0)
        half.leave()
        half.leave()
        world.set_deadline(float("inf"))
        assert world.allreduce(1) == size and world.transport == "shared_memory" and world.name == "world"


def lifetimes():
    """Arrays that nothing refers to stay alive until the operation has ended."""
    import gc
    import weakref

    import tutti_collectives as tutti
    with tutti.join() as world:
        class Memory(bytearray):
            pass

        rank, size, dropped = world.rank, world.size, []

        def array(value):
            memory = Memory(np.full(200_000, float(value)).tobytes())
            dropped.append(weakref.ref(memory))
            return np.frombuffer(memory)

        pending = world.allreduce(array(1), start=True) if rank == 0 else None
        gc.collect()
        assert rank or dropped[0]() is not None
        total = pending.wait() if pending else world.allreduce(array(1))
        assert (total == size).all()
        for recv, send in ((world.recv, world.send), (
                lambda out, sender, start: world.exchange([], [(out, sender)], start),
                lambda x, receiver, start: world.exchange([(x, receiver)], [], start))):
            recv(array(0), (rank - 1) % size, start=True)  # its Pending is dropped at once
            gc.collect()
            assert dropped[-1]() is not None
            world.barrier()
            send(array(rank), (rank + 1) % size, start=True)
        following = world.recv(np.empty(1), (rank - 1) % size, start=True)  # ends after what was started before it
        world.send(np.empty(1), (rank + 1) % size)
        following.wait()
        world.barrier()
        world.barrier()
        del pending, total, following
        gc.collect()
        assert [memory() is None for memory in dropped] == [True] * len(dropped)


def dropped_worlds():
    """A world that nothing refers to is left by the thread that drops it, after what was started in it."""
    import threading
    import weakref

    import tutti_collectives as tutti
    worlds = [tutti.join(background=True)]
    worlds.append(worlds[0].split(0))
    while worlds:
        world, threads = worlds.pop(), []
        weakref.finalize(world, lambda: threads.append(threading.current_thread()))
        world.recv(np.empty(200_000), (world.rank - 1) % world.size, start=True)
        world.send(np.empty(200_000), (world.rank + 1) % world.size, start=True)
        del world
        assert threads == [threading.main_thread()], threads


def inputs():
    """Objects with memory that is not NumPy's."""
    import array

    import tutti_collectives as tutti
    with tutti.join() as world:
        n = world.size
        assert world.allreduce([1, 2]).tolist() == [n, 2 * n] and world.allreduce(2.5) == 2.5 * n
        assert world.allreduce(range(3), "max").tolist() == [0, 1, 2]
        numbers = array.array("d", [1, 2])
        world.allreduce(numbers, out=numbers)
        assert numbers.tolist() == [n, 2 * n]
        raw = bytearray(b"abc" if world.rank == 0 else 3)
        world.broadcast(raw)
        assert raw == b"abc"
        view = memoryview(bytearray(8)).cast("q")
        assert world.allreduce(array.array("q", [1]), out=view)[0] == n and view[0] == n
        frozen = np.ones(2)
        frozen.flags.writeable = False
        assert world.allreduce(frozen)[0] == n
        if world.rank == 0:
            world.broadcast(frozen)
        else:
            assert world.broadcast(np.zeros(2))[1] == 1


@unittest.skipIf(LACKS_NUMPY, "no numpy")
class Results(unittest.TestCase):
    def each(self, case, *sizes):
        for size in sizes:
            with self.subTest(ranks=size):
                ranks.run(self, __file__, case, size)

    def test_reductions(self):
        self.each("reductions", 1, 2, 3, 4)

    def test_moves(self):
        self.each("moves", 1, 2, 3, 4)

    def test_messages(self):
        self.each("messages", 2, 4)

    def test_parts(self):
        self.each("parts", 1, 3, 4)

    def test_lifetimes(self):
        self.each("lifetimes", 2, 3)
        self.each("dropped_worlds", 2, 3)

    def test_inputs(self):
        self.each("inputs", 1, 2)


if __name__ == "__main__":
    ranks.main(globals())
