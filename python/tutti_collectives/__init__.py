# SPDX-License-Identifier: Apache-2.0
"""Collective communication of NumPy arrays. python/README.md is the guide.

    import tutti_collectives as tutti
    with tutti.join() as world:
        total = world.allreduce(x)
"""
import ctypes
import math
import weakref
from contextlib import AbstractContextManager
from operator import index

from .arrays import (address, blocks, elements, even_rows, fitting, operator_of, result, row_counts, source, target,
                     type_of, within)
from .binding import NO_PART, OPERATORS, Error, Kind, MessageRecord, OptionsRecord, check, error_room, lib
from .pending import Pending, leave, nanoseconds

__all__ = ["join", "World", "Pending", "Error", "Kind", *(name.upper() for name in OPERATORS)]
SUM, PROD, MIN, MAX, MEAN, LOGICAL_AND, LOGICAL_OR, LOGICAL_XOR, BIT_AND, BIT_OR, BIT_XOR = OPERATORS


def join(transport=None, topology=None, role=None, deadline=None, background=False):
    """Joins the world of this process, as its launcher describes it. The options are those of tutti/c.h.

    deadline    the limit for an operation in seconds; None: five minutes; math.inf: none
    background  True: a thread of the library advances what was started, and any thread may call the world
    """
    texts = (text and text.encode() for text in (transport, topology, role))
    options = OptionsRecord(ctypes.sizeof(OptionsRecord), *texts, nanoseconds(deadline or 0), background)
    return _made(lib.tutti_join, ctypes.byref(options))


def _made(function, *arguments):
    handle = ctypes.c_void_p()
    check(function(*arguments, ctypes.byref(handle), error_room.at))
    return World(handle.value) if handle else None


class World(AbstractContextManager):
    """A group of ranks. All of them call the same operations in the same order.

    x        the array that this rank gives, or anything that numpy.asarray takes
    op       "sum", "prod", "min", "max", "mean", "logical_and", "bit_or" and others, or tutti.SUM and others
    out      the array for the result: x for an operation in place, None for a new one
    lengths  the number of rows of each rank's block, equal on all ranks
    start    True: the call returns a Pending, whose wait() returns the result
    """

    def __init__(self, handle):
        self._handle, self._pending = handle, weakref.WeakSet()
        self.rank, self.size = lib.tutti_rank(handle), lib.tutti_size(handle)
        self.name, self.transport = lib.tutti_name(handle).decode(), lib.tutti_transport(handle).decode()
        self._finalizer = weakref.finalize(self, leave, handle, self._pending)

    def leave(self):
        """Leaves the world, as the end of the program and of a `with` block do. Cancels what has not ended."""
        self._finalizer()

    def __exit__(self, *exception):
        self.leave()

    def _alive(self):
        if not self._finalizer.alive:
            raise ValueError(f"this rank has left {self.name}")
        return self._handle

    def _run(self, function, *arguments, out=None, start=False):
        pending = Pending(self, arguments, out)
        try:
            check(function(self._alive(), *map(address, arguments), ctypes.byref(pending.request), error_room.at))
            if not start:
                return pending.wait()
        except KeyboardInterrupt:
            pending.cancel()
            raise
        self._pending.add(pending)
        return pending

    def _combine(self, function, x, op, out, start, *root, returns=True):
        x = source(x)
        out = result(out, x.shape, x.dtype) if root in ((), (self.rank,)) else None
        return self._run(function, x, out, x.size, type_of(x.dtype, combines=True), operator_of(op), *root,
                         out=out if returns else None, start=start)

    def _peer(self, rank):
        if not 0 <= rank < self.size:
            raise ValueError(f"there is no rank {rank}: the ranks of {self.name} are 0 to {self.size - 1}")
        return index(rank)

    def allreduce(self, x, op=SUM, out=None, start=False):
        """Returns the combination of all ranks' arrays."""
        return self._combine(lib.tutti_allreduce, x, op, out, start)

    def reduce(self, x, op=SUM, root=0, out=None, start=False):
        """Returns the combination of all ranks' arrays on the root, and None elsewhere."""
        return self._combine(lib.tutti_reduce, x, op, out, start, self._peer(root))

    def scan(self, x, op=SUM, out=None, start=False):
        """Returns the combination of the arrays of the ranks up to this one."""
        return self._combine(lib.tutti_scan, x, op, out, start)

    def exscan(self, x, op=SUM, out=None, start=False):
        """Returns the combination of the ranks before this one. Rank 0 gets its `out` unchanged, or None."""
        return self._combine(lib.tutti_exscan, x, op, out, start, returns=self.rank > 0 or out is not None)

    def reduce_scatter(self, x, op=SUM, lengths=None, out=None, start=False):
        """Returns this rank's block of rows of the combination, by default that of numpy.array_split."""
        x = source(x)
        lengths = even_rows(self, x) if lengths is None else row_counts(self, lengths)
        shape = (lengths[self.rank], *x.shape[1:])
        lengths, before, whole = blocks(self, lengths, shape)
        out = result(out, shape, x.dtype)
        return self._run(lib.tutti_reduce_scatter, fitting(x, whole, x.dtype, "x"), within(out, x, before), x.size,
                         lengths, type_of(x.dtype, combines=True), operator_of(op), out=out, start=start)

    def broadcast(self, x, root=0, start=False):
        """Fills x with the root's, and returns it."""
        root = self._peer(root)
        x = source(x) if self.rank == root else target(x, "x")
        return self._run(lib.tutti_broadcast, x, x.size, type_of(x.dtype), root, out=x, start=start)

    def _collect(self, function, x, lengths, out, start, *root):
        x = source(x)
        lengths, before, shape = blocks(self, lengths, x.shape)
        out = result(out, shape, x.dtype) if root in ((), (self.rank,)) else None
        return self._run(function, x if root else within(x, out, before), out, math.prod(shape), lengths,
                         type_of(x.dtype), *root, out=out, start=start)

    def allgather(self, x, lengths=None, out=None, start=False):
        """Returns all ranks' arrays: rank r's is result[r], or with lengths the next lengths[r] rows."""
        return self._collect(lib.tutti_allgather, x, lengths, out, start)

    def gather(self, x, root=0, lengths=None, out=None, start=False):
        """Returns all ranks' arrays on the root, as allgather does, and None elsewhere."""
        return self._collect(lib.tutti_gather, x, lengths, out, start, self._peer(root))

    def scatter(self, x, out, root=0, lengths=None, start=False):
        """Fills out with x[rank] of the root's x, or with the next lengths[rank] rows, and returns it."""
        root, out = self._peer(root), target(out)
        lengths, _, shape = blocks(self, lengths, out.shape)
        x = fitting(source(x), shape, out.dtype, "x") if self.rank == root else None
        return self._run(lib.tutti_scatter, x, out, math.prod(shape), lengths, type_of(out.dtype), root, out=out,
                         start=start)

    def alltoall(self, x, outgoing=None, incoming=None, out=None, start=False):
        """Returns a block from each rank's x: even ones, or of outgoing[r] rows to rank r and incoming[r] from it."""
        x = source(x)
        if (outgoing is None) != (incoming is None):
            raise ValueError("alltoall takes outgoing and incoming, the numbers of rows to and from each rank, or "
                             "neither: pass both")
        outgoing = even_rows(self, x) if outgoing is None else row_counts(self, outgoing)
        incoming = [outgoing[self.rank]] * self.size if incoming is None else row_counts(self, incoming)
        fitting(x, (sum(outgoing), *x.shape[1:]), x.dtype, "x")
        out = result(out, (sum(incoming), *x.shape[1:]), x.dtype)
        return self._run(lib.tutti_alltoallv, x, elements(self, outgoing, x.shape), out,
                         elements(self, incoming, x.shape), type_of(x.dtype), out=out, start=start)

    def barrier(self, start=False):
        """Returns on no rank before all have called it."""
        return self._run(lib.tutti_barrier, start=start)

    def send(self, x, receiver, start=False):
        """Sends an array to a rank. Messages of a pair of ranks arrive in order."""
        x = source(x)
        return self._run(lib.tutti_send, x, x.size, type_of(x.dtype), self._peer(receiver), start=start)

    def recv(self, out, sender, start=False):
        """Fills out with the next array from a rank, and returns it."""
        out = target(out)
        return self._run(lib.tutti_recv, out, out.size, type_of(out.dtype), self._peer(sender), out=out, start=start)

    def recv_any(self, out, start=False):
        """Fills out with the next array from any other rank, and returns it and the sender."""
        out, sender = target(out), ctypes.c_uint32()
        return self._run(lib.tutti_recv_any, out, out.size, type_of(out.dtype), ctypes.byref(sender),
                         out=lambda: (out, sender.value), start=start)

    def exchange(self, sends, receives, start=False):
        """Sends and receives pairs (array, rank) at the same time, and returns the arrays that were received."""
        arrays = [source(x) for x, _ in sends] + [target(out) for out, _ in receives]
        messages = (MessageRecord * len(arrays))(*(
            (address(one), one.size, type_of(one.dtype), self._peer(rank), i >= len(sends), 0)
            for i, (one, (_, rank)) in enumerate(zip(arrays, [*sends, *receives]))))
        return self._run(lib.tutti_exchange, messages, len(arrays), out=lambda: arrays[len(sends):], start=start)

    def split(self, colour, key=0):
        """Returns the world of the ranks of one colour, ordered by key, then by rank; for the colour None, None."""
        if colour is not None and not 0 <= colour < NO_PART:
            raise ValueError(f"the colour is {colour}: it has to be a number from 0 to 2**32 - 2, or None")
        return _made(lib.tutti_split, self._alive(), NO_PART if colour is None else index(colour), index(key))

    def dup(self):
        """Returns a world of the same ranks, whose operations are independent of those of this one."""
        return _made(lib.tutti_dup, self._alive())

    def set_deadline(self, seconds):
        """Sets the limit for later operations, on all ranks; math.inf: none."""
        check(lib.tutti_set_deadline(self._alive(), nanoseconds(seconds), error_room.at))

    def abort(self, reason):
        """Ends the world on purpose, with its parts, on all ranks."""
        lib.tutti_abort(self._alive(), reason.encode())
