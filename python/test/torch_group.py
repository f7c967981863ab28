# SPDX-License-Identifier: Apache-2.0
"""Tests the backend "tutti" of torch.distributed.

    python3 python/test/torch_group.py [NAME ...]

Each test forks its ranks, which meet in a file, and has a time limit. Prints SKIP where torch is missing.
"""
import atexit
import contextlib
import datetime
import faulthandler
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import weakref

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

try:
    import torch
    import torch.distributed as dist
except ImportError as error:
    print(f"SKIP: {error}; Debian has it in python3-torch")
    sys.exit(0)

import ranks
import tutti_torch
from tutti_collectives import binding

LIMIT = 60
TESTS = {}


def test(*sizes, ends=None):
    """Registers a test, which each rank of a world runs for each of the sizes. `ends` has the exit codes of ranks that
    do not end by returning."""
    def register(function):
        TESTS[function.__name__] = function, sizes, ends or {}
        return function
    return register


def join(store, rank, size, seconds=50, **options):
    dist.init_process_group("tutti", init_method=f"file://{store}", rank=rank, world_size=size,
                            timeout=datetime.timedelta(seconds=seconds), **options)


@contextlib.contextmanager
def expected(kind, *texts):
    """Expects an exception whose text has all of these."""
    try:
        yield
    except kind as error:
        for text in texts:
            assert text in str(error), f"no {text!r} in {error!s}"
    else:
        raise AssertionError(f"no {kind.__name__}")


def equal(found, wanted):
    assert found.dtype == wanted.dtype and torch.equal(found, wanted), f"{found} instead of {wanted}"


def drawn(dtype, length, rank):
    """Returns numbers that each rank can draw for each rank, whose sums and products are exact in all types."""
    generator = torch.Generator().manual_seed(1000 * length + rank)
    return torch.randint(0, 2 if dtype is torch.bool else 4, (length,), generator=generator).to(dtype)


def combined(op, tensors):
    ops = {"SUM": torch.add, "PRODUCT": torch.mul, "MIN": torch.minimum, "MAX": torch.maximum,
           "BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}
    result = tensors[0].clone()
    for tensor in tensors[1:]:
        result = ops["SUM" if op == "AVG" else op](result, tensor)
    return result / len(tensors) if op == "AVG" else result


NUMBERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32, torch.float64]
HALVES = [torch.float16, torch.bfloat16]


def cases():
    for dtype, op in itertools.product(NUMBERS, ["SUM", "PRODUCT", "MIN", "MAX"]):
        yield dtype, op
    for dtype, op in itertools.product(NUMBERS[:5], ["BAND", "BOR", "BXOR"]):
        yield dtype, op
    for dtype in HALVES + [torch.complex64]:
        yield dtype, "SUM"
    for dtype in [torch.float32, torch.float64]:
        yield dtype, "AVG"


@test(1, 2, 3)
def reductions(store, rank, size):
    join(store, rank, size)
    for (dtype, op), length in itertools.product(cases(), [0, 1, 1000]):
        reduce_op = getattr(dist.ReduceOp, op)
        inputs = [drawn(dtype, length, r) for r in range(size)]
        wanted = combined(op, inputs)
        for asynchronous in (False, True):
            found = inputs[rank].clone()
            work = dist.all_reduce(found, op=reduce_op, async_op=asynchronous)
            if asynchronous:
                assert work.wait() and work.is_completed() and work.is_success()
            equal(found, wanted)
        found = inputs[rank].clone()
        dist.reduce(found, size - 1, op=reduce_op)
        equal(found, wanted if rank == size - 1 else inputs[rank])
        parts = [[drawn(dtype, length, r * size + block) for block in range(size)] for r in range(size)]
        wanted = combined(op, [parts[r][rank] for r in range(size)])
        found = torch.empty(length, dtype=dtype)
        dist.reduce_scatter(found, parts[rank], op=reduce_op)
        equal(found, wanted)
        found = torch.empty(length, dtype=dtype)
        dist._reduce_scatter_base(found, torch.cat(parts[rank]), op=reduce_op)
        equal(found, wanted)
    for op, wanted in (("SUM", True), ("MAX", True), ("MIN", size == 1), ("PRODUCT", size == 1)):
        found = torch.tensor([rank == 0])
        dist.all_reduce(found, op=getattr(dist.ReduceOp, op))
        equal(found, torch.tensor([wanted]))
    dist.destroy_process_group()


@test(1, 2, 3)
def moves(store, rank, size):
    join(store, rank, size)
    for dtype, length in itertools.product(NUMBERS + HALVES + [torch.bool, torch.complex64], [0, 1, 1000]):
        of_rank = [drawn(dtype, length, r) for r in range(size)]
        root = size - 1
        found = of_rank[rank].clone()
        dist.broadcast(found, root)
        equal(found, of_rank[root])

        found = [torch.empty_like(tensor) for tensor in of_rank]
        dist.all_gather(found, of_rank[rank])
        equal(torch.cat(found), torch.cat(of_rank))
        found = torch.empty(size * length, dtype=dtype)
        getattr(dist, "all_gather_into_tensor", dist._all_gather_base)(found, of_rank[rank])
        equal(found, torch.cat(of_rank))

        found = [torch.empty_like(tensor) for tensor in of_rank] if rank == root else None
        dist.gather(of_rank[rank], found, root)
        if rank == root:
            equal(torch.cat(found), torch.cat(of_rank))
        found = torch.empty(length, dtype=dtype)
        dist.scatter(found, of_rank if rank == root else None, root)
        equal(found, of_rank[rank])

        blocks = [[drawn(dtype, length, r * size + block) for block in range(size)] for r in range(size)]
        wanted = torch.cat([blocks[r][rank] for r in range(size)])
        found = [torch.empty(length, dtype=dtype) for _ in range(size)]
        dist.all_to_all(found, blocks[rank])
        equal(torch.cat(found), wanted)
        found = torch.empty(size * length, dtype=dtype)
        dist.all_to_all_single(found, torch.cat(blocks[rank]))
        equal(found, wanted)
    uneven = [torch.full((r + 1, 2), float(r)) for r in range(size)]
    found = [torch.empty(r + 1, 2) for r in range(size)]
    dist.all_gather(found, uneven[rank])
    equal(torch.cat(found), torch.cat(uneven))
    lengths = [[r + block for block in range(size)] for r in range(size)]
    found = torch.empty(sum(lengths[r][rank] for r in range(size)), 2)
    dist.all_to_all_single(found, torch.full((sum(lengths[rank]), 2), float(rank)),
                           [lengths[r][rank] for r in range(size)], lengths[rank])
    equal(found, torch.cat([torch.full((lengths[r][rank], 2), float(r)) for r in range(size)]))
    found = [None] * size
    dist.all_gather_object(found, {"rank": rank})
    assert found == [{"rank": r} for r in range(size)]
    found = [rank]
    dist.broadcast_object_list(found, size - 1)
    assert found == [size - 1]
    dist.scatter_object_list(found, list("abcd")[:size] if rank == 0 else None)
    assert found == ["abcd"[rank]]
    dist.barrier()
    dist.barrier(async_op=True).wait()
    dist.destroy_process_group()


@test(2, 3)
def messages(store, rank, size):
    join(store, rank, size)
    after, before = (rank + 1) % size, (rank - 1) % size
    for tag, length in itertools.product([0, 7], [0, 1, 5, 1000]):
        own, found = torch.full((length,), rank, dtype=torch.uint8), torch.empty(length, dtype=torch.uint8)
        work = dist.isend(own, after, tag=tag)
        dist.recv(found, before, tag=tag)
        work.wait()
        equal(found, torch.full_like(own, before))
        if rank == 0:
            senders = set()
            for _ in range(size - 1):
                sender = dist.recv(found, tag=tag)
                equal(found, torch.full_like(own, sender))
                senders.add(sender)
            assert senders == set(range(1, size))
        else:
            dist.send(own, 0, tag=tag)
        dist.barrier()
        if rank == 0:
            work = dist.irecv(found, tag=tag)
            work.wait()
            assert work._source_rank() == 1
        if rank == 1:
            dist.send(own, 0, tag=tag)
        dist.barrier()
    dist.destroy_process_group()


@test(3)
def batches(store, rank, size):
    join(store, rank, size)
    own, found = torch.full((1000,), float(rank)), torch.empty(1000)
    for work in dist.batch_isend_irecv([dist.P2POp(dist.isend, own, (rank + 1) % size),
                                        dist.P2POp(dist.irecv, found, (rank - 1) % size)]):
        work.wait()
    equal(found, torch.full((1000,), float((rank - 1) % size)))
    tensors = [torch.full((r + 1,), float(rank)) for r in range(4)]
    wanted = [torch.full((r + 1,), float(sum(range(size)))) for r in range(4)]
    dist.all_reduce_coalesced(tensors)
    for tensor, right in zip(tensors, wanted):
        equal(tensor, right)
    if hasattr(dist, "all_gather_into_tensor") and hasattr(dist.distributed_c10d, "_CoalescingManager"):
        tensors = [torch.full((r + 1,), float(rank)) for r in range(4)]
        with dist.distributed_c10d._coalescing_manager(async_ops=True) as manager:
            for tensor in tensors:
                dist.all_reduce(tensor)
        manager.wait()
        for tensor, right in zip(tensors, wanted):
            equal(tensor, right)
        gathered = [torch.empty(size * (r + 1)) for r in range(4)]
        scattered = [torch.empty(r + 1) for r in range(4)]
        with dist.distributed_c10d._coalescing_manager():
            for r in range(4):
                dist.all_gather_into_tensor(gathered[r], torch.full((r + 1,), float(rank)))
        with dist.distributed_c10d._coalescing_manager():
            for r in range(4):
                dist.reduce_scatter_tensor(scattered[r], gathered[r])
        for r in range(4):
            equal(gathered[r], torch.cat([torch.full((r + 1,), float(each)) for each in range(size)]))
            equal(scattered[r], torch.full((r + 1,), float(rank * size)))
    dist.destroy_process_group()


def dtypes(rank, size):
    """Tensors of different dtypes, or of other lengths than the blocks, are refused before anything is written."""
    group, floats, doubles = dist.group.WORLD, torch.ones(4), torch.ones(4, dtype=torch.float64)
    half, root = doubles[:2], dist.GatherOptions()
    root.rootRank = rank
    scatters = dist.ScatterOptions()
    scatters.rootRank = rank
    for call, *arguments in ((group.allgather, [[half, half]], [floats[:2]]),
                             (group.allgather, [[floats[:2], half]], [floats[:2]]),
                             (group._allgather_base, floats, half), (group._allgather_base, doubles, floats),
                             (group.allgather_coalesced, [[half], [half]], [floats[:2]]),
                             (group.allgather_into_tensor_coalesced, [doubles], [floats[:2]]),
                             (group.allreduce_coalesced, [floats, doubles]),
                             (group.gather, [[half, half]], [floats[:2]], root),
                             (group.scatter, [floats[:2]], [[half, half]], scatters),
                             (group.reduce_scatter, [half], [[floats[:2], floats[:2]]]),
                             (group.reduce_scatter, [half], [[half, floats[:2]]]),
                             (group._reduce_scatter_base, half, floats),
                             (group.reduce_scatter_tensor_coalesced, [half], [floats]),
                             (group.alltoall, [half, half], [floats[:2], floats[:2]]),
                             (group.alltoall_base, doubles, floats, [], [])):
        with expected(ValueError, "torch.float32 and torch.float64", "tensor.to()"):
            call(*arguments)
    for call, *arguments in ((group.gather, [[floats[:1], floats[:3]]], [floats[:2]], root),
                             (group.scatter, [floats[:2]], [[floats[:1], floats[:3]]], scatters),
                             (group.allgather_into_tensor_coalesced, [floats[:2], floats], [floats[:2], floats[:1]]),
                             (group.reduce_scatter_tensor_coalesced, [floats[:2], floats[:1]], [floats[:2], floats]),
                             (group.allgather_coalesced, [[floats], [floats[:2]]], [floats])):
        with expected(ValueError, "elements, and not of"):
            call(*arguments)
    equal(floats, torch.ones(4))
    empty, found = torch.empty(0), torch.empty(2)
    group.reduce_scatter_tensor_coalesced([empty, found], [empty, floats]).wait()
    equal(found, torch.full((2,), float(size)))


@test(2)
def places(store, rank, size):
    """Tensors that are not contiguous, and refused ones."""
    join(store, rank, size)
    for asynchronous in (False, True):
        def end(work):
            return work.wait() if asynchronous else None
        matrix = torch.arange(12.0).view(3, 4)
        end(dist.all_reduce(matrix.t(), async_op=asynchronous))
        equal(matrix, torch.arange(12.0).view(3, 4) * size)
        matrix = torch.arange(12.0).view(3, 4) * rank
        end(dist.broadcast(matrix[:, 1], 1, async_op=asynchronous))
        equal(matrix[:, 1], torch.tensor([1.0, 5.0, 9.0]))
        pair = torch.zeros(size, 2).t()
        end(dist.all_gather([pair[:, r] for r in range(size)], torch.full((2,), float(rank)), async_op=asynchronous))
        equal(pair, torch.arange(float(size)).expand(2, size))
    weight = torch.ones(3, 2, requires_grad=True)
    dist.broadcast(weight.detach().t(), 0)
    for tensor, text in ((torch.ones(2, 2).to_sparse(), "to_dense"), (torch.ones(2, device="meta"), "tensor.cpu()"),
                         (torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.quint8), "dequantize")):
        with expected(ValueError, text):
            dist.all_reduce(tensor)
        with expected(ValueError, text):
            dist.broadcast(tensor, 0)
    conjugate = torch.tensor([complex(1 + rank, 2), 1j]).conj()
    dist.broadcast(conjugate, 0)
    equal(conjugate, torch.tensor([1 - 2j, -1j]))
    found = [torch.empty(2, dtype=torch.complex64).conj() for _ in range(size)]
    dist.group.WORLD.allgather([found], [conjugate]).wait()
    equal(found[1 - rank], conjugate)
    negative = torch._neg_view(torch.ones(2))
    dist.all_reduce(negative)
    equal(negative, torch.full((2,), -2.0))
    dtypes(rank, size)
    for dtype, op in ((torch.int32, "AVG"), (torch.bool, "AVG")):
        with expected(ValueError, str(dtype)):
            dist.all_reduce(torch.ones(1, dtype=dtype), op=getattr(dist.ReduceOp, op))
    with expected(ValueError, "3 tensors for 2 ranks"):
        dist.all_gather([torch.empty(1)] * 3, torch.ones(1))
    with expected(ValueError, "split"):
        dist.all_to_all_single(torch.empty(3), torch.ones(3))
    dist.barrier()
    dist.destroy_process_group()


@test(2)
def mismatch(store, rank, size):
    join(store, rank, size)
    with expected(binding.Error, "allreduce"):
        dist.all_reduce(torch.ones(2 + rank))
    dist.destroy_process_group()


@test(2)
def tags(store, rank, size):
    join(store, rank, size)
    if rank == 0:
        dist.send(torch.ones(2), 1, tag=3)
    else:
        with expected(RuntimeError, "tag 3", "tag 4"):
            dist.recv(torch.ones(2), 0, tag=4)
    dist.destroy_process_group()


@test(2)
def futures(store, rank, size):
    join(store, rank, size)
    data = [torch.ones(1000) for _ in range(20)]
    works = [dist.all_reduce(each, async_op=True) for each in data]
    dist.all_reduce(torch.ones(1))
    halves = [work.get_future().then(lambda future: future.value()[0] / 2) for work in works]
    for each, half in zip(data, halves):
        equal(half.wait(), torch.ones(1000))
        equal(each, torch.full((1000,), 2.0))

    def twice(future):
        """Reduces the result of another reduction, in the thread of the library."""
        return dist.all_reduce(future.value()[0], async_op=True).get_future().wait()[0]
    chains = []
    for each in data:
        chains.append(dist.all_reduce(each.fill_(1), async_op=True).get_future().then(twice))
    for chain in chains:
        equal(chain.wait(), torch.full((1000,), 4.0))
    for _ in range(20):
        dist.all_reduce(torch.ones(1000), async_op=True)  # a Work that is dropped
    works = [dist.irecv(torch.empty(1), 1) for _ in range(2)] if rank == 0 else []
    for work in works:
        with expected(RuntimeError, "timed out"):
            work.wait(datetime.timedelta(seconds=0.05))
        assert not work.is_completed()
        work.get_future()
        with expected(RuntimeError, "timed out"):
            work.wait(datetime.timedelta(seconds=0.05))
    dist.barrier()
    if rank == 1:
        dist.send(torch.ones(1), 0)
        dist.send(torch.ones(1), 0)
    for work in works:
        assert work.wait(datetime.timedelta.max) and work.is_completed()
    dist.destroy_process_group()


@test(2)
def several(store, rank, size):
    """The Work of a coalescing manager."""
    join(store, rank, size)
    group = dist.group.WORLD
    tensors = [torch.ones(10) for _ in range(3)]
    group._start_coalescing()
    for tensor in tensors:
        dist.all_reduce(tensor, async_op=True)
    work = group._end_coalescing([])
    for tensor in work.get_future().wait():
        equal(tensor, torch.full((10,), 2.0))
    assert work.is_success() and work.exception() is None and len(work.result()) == 3
    group._start_coalescing()
    with expected(binding.Error, "has no reduction"):
        dist.all_reduce(torch.ones(1), op=dist.ReduceOp.BAND, async_op=True)
    assert group._coalesced is None
    group._start_coalescing()
    dist.all_reduce(torch.ones(1 + rank), async_op=True)
    work = group._end_coalescing([])
    with expected(RuntimeError, "allreduce"):
        work.get_future().wait()
    with expected(binding.Error, "allreduce"):
        work.wait()
    assert not work.is_success() and work.exception().kind == binding.Kind.MISMATCH
    dist.destroy_process_group()


@test(3)
def subgroups(store, rank, size):
    join(store, rank, size)
    for turn in range(3):
        groups = [dist.new_group([0, 1]), dist.new_group([1, 2]), dist.new_group()]
        for group, members in zip(groups, ([0, 1], [1, 2], [0, 1, 2])):
            found = torch.tensor([10.0 ** rank])
            dist.all_reduce(found, group=group)
            equal(found, torch.tensor([sum(10.0 ** r for r in members) if rank in members else 10.0 ** rank]))
        if turn == 1:
            dist.destroy_process_group(groups[2])
    dist.destroy_process_group()


@test(2)
def threads(store, rank, size):
    join(store, rank, size)
    groups = [dist.new_group() for _ in range(3)]
    failures = []

    def use(group):
        try:
            for turn in range(200):
                found = torch.full((10,), float(turn))
                work = dist.all_reduce(found, group=group, async_op=turn % 2 == 0)
                if work is not None:
                    work.wait()
                equal(found, torch.full((10,), 2.0 * turn))
        except Exception:
            failures.append(traceback.format_exc())
    users = [threading.Thread(target=use, args=(group,)) for group in groups]
    for user in users:
        user.start()
    for user in users:
        user.join()
    assert not failures, failures[0]
    dist.destroy_process_group()


def model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(20, 30), torch.nn.ReLU(), torch.nn.Linear(30, 30), torch.nn.ReLU(),
                               torch.nn.Linear(30, 5))


class Rows(torch.utils.data.Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, index):
        return torch.randn(20, generator=torch.Generator().manual_seed(index)), index % 5


def trained(group, rank, size, hook=None, workers=0, **options):
    ddp = torch.nn.parallel.DistributedDataParallel(model(), process_group=group, **options)
    if hook is not None:
        hook(ddp, group)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.1)
    rows = Rows()
    sampler = torch.utils.data.DistributedSampler(rows, size, rank)
    for turn, (x, y) in enumerate(torch.utils.data.DataLoader(rows, 4, sampler=sampler, num_workers=workers)):
        with ddp.no_sync() if turn % 3 == 2 else contextlib.nullcontext():
            torch.nn.functional.cross_entropy(ddp(x), y).backward()
        if turn % 3 != 2:
            optimizer.step()
            optimizer.zero_grad()
    return torch.cat([parameter.detach().flatten() for parameter in ddp.parameters()])


def unequal_ranks(weights):
    lowest, highest = weights.clone(), weights.clone()
    dist.all_reduce(lowest, op=dist.ReduceOp.MIN)
    dist.all_reduce(highest, op=dist.ReduceOp.MAX)
    return not torch.equal(lowest, highest)


@test(2, 3)
def training(store, rank, size):
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
    join(store, rank, size)
    gloo = dist.new_group(backend="gloo") if dist.is_gloo_available() else None
    small = {"bucket_cap_mb": 0.002}

    def with_hook(hook):
        return lambda ddp, group: ddp.register_comm_hook(group, hook)
    halves = {"hook": with_hook(default_hooks.fp16_compress_hook), **small}
    variants = [{}, small, {"find_unused_parameters": True}, {"static_graph": True, **small}, {"workers": 2},
                {"gradient_as_bucket_view": True}, {"hook": with_hook(default_hooks.allreduce_hook), **small}, halves]
    for variant in variants:
        weights = trained(dist.group.WORLD, rank, size, **variant)
        assert not unequal_ranks(weights), variant
        if gloo is not None:
            atol = 1e-4 if variant is halves else 1e-5  # backends add in different orders
            assert torch.allclose(weights, trained(gloo, rank, size, **variant), atol=atol), variant

    def power(ddp, group):
        state = powerSGD_hook.PowerSGDState(group, matrix_approximation_rank=1, start_powerSGD_iter=2)
        ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    # Gloo fails here with several buckets: its threads run the callbacks of ranks in different orders.
    assert not unequal_ranks(trained(dist.group.WORLD, rank, size, hook=power, **small))
    dist.destroy_process_group()


@test(2)
def optimizers(store, rank, size):
    from torch.distributed.algorithms.join import Join
    from torch.distributed.optim import ZeroRedundancyOptimizer
    join(store, rank, size)
    ddp = torch.nn.parallel.DistributedDataParallel(model())
    optimizer = ZeroRedundancyOptimizer(ddp.parameters(), optimizer_class=torch.optim.SGD, lr=0.1)
    with Join([ddp, optimizer]):
        for _ in range(3 + rank):
            optimizer.zero_grad()
            ddp(torch.randn(4, 20)).sum().backward()
            optimizer.step()
    optimizer.consolidate_state_dict(0)
    assert not unequal_ranks(torch.cat([parameter.detach().flatten() for parameter in ddp.parameters()]))
    dist.destroy_process_group()


@test(2)
def fork(store, rank, size):
    """A child of a rank has no group, and leaves that of its parent alone."""
    join(store, rank, size)
    dist.barrier()  # both ranks are done with the file of the store
    work = dist.irecv(torch.empty(1), 1) if rank == 0 else None
    child = os.fork()
    if child == 0:
        try:
            with expected(binding.Error, "fork"):
                dist.all_reduce(torch.ones(1))
            atexit._run_exitfuncs()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if rank == 1:
        dist.send(torch.ones(1), 0)
    else:
        work.wait()
    assert os.waitpid(child, 0)[1] == 0
    dist.barrier()
    dist.destroy_process_group()


@test(3, ends={1: -signal.SIGKILL})
def killed(store, rank, size):
    join(store, rank, size)
    ddp = torch.nn.parallel.DistributedDataParallel(model())
    group = dist.new_group()
    dist.barrier()
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    start = time.monotonic()
    with expected(binding.Error, "rank 1"):
        dist.all_reduce(torch.ones(1000), group=group)
    work = dist.all_reduce(torch.ones(1000), async_op=True)
    with expected(RuntimeError, "rank 1"):
        work.get_future().wait()
    with expected(binding.Error, "rank 1"):
        work.wait()
    with expected(RuntimeError, "rank 1"):
        ddp(torch.ones(1, 20)).sum().backward()
    try:
        dist.barrier()
    except binding.Error as error:
        assert error.ranks == (1,) and error.kind == binding.Kind.PEER_LOST and error.rank == rank
    else:
        raise AssertionError("no error")
    assert time.monotonic() - start < 5
    dist.destroy_process_group()


@test(2)
def timeouts(store, rank, size):
    join(store, rank, size)
    group = dist.new_group(timeout=datetime.timedelta(seconds=3))
    if rank == 0:
        try:
            dist.barrier(group=group)
        except binding.Error as error:
            assert error.kind == binding.Kind.DEADLINE and error.ranks == (1,) and " timeout " in str(error), error
        else:
            raise AssertionError("no error")
    dist.barrier()
    dist.destroy_process_group()


@test(2)
def again(store, rank, size):
    """Worlds that meet in one store, one after the other, which has the keys of all before."""
    shared = dist.FileStore(store, size)
    for _ in range(3):
        group = tutti_torch.ProcessGroupTutti(shared, rank, size, datetime.timedelta(seconds=50))
        found = torch.ones(1)
        group.allreduce([found]).wait()
        equal(found, torch.full((1,), 2.0))
        group.shutdown()
        with expected(RuntimeError, "was destroyed"):
            group.allreduce([found])


@test(2)
def callbacks(store, rank, size):
    """Groups whose last reference goes in the library's thread, or which are destroyed there."""
    shared = dist.FileStore(store, size)

    def make():
        return tutti_torch.ProcessGroupTutti(shared, rank, size, datetime.timedelta(seconds=50))
    first, second, last = make(), make(), make()
    if rank == 0:
        is_gone = threading.Event()
        weakref.finalize(first, is_gone.set)
        first.recv([torch.empty(1)], 1, 0)
        del first
        left = second.recv([torch.empty(1)], 1, 0).get_future().then(lambda _: second.shutdown())
        last.barrier()
        assert is_gone.wait(10)
        left.wait()
        for thread in threading.enumerate():
            if not thread.daemon and thread is not threading.current_thread():
                thread.join()
        assert not second.is_own()
    else:
        last.barrier()
        first.send([torch.ones(1)], 0, 0).wait()
        second.send([torch.ones(1)], 0, 0).wait()


@test(2)
def leftovers(store, rank, size):
    """A world whose store has the keys of ranks that were killed while they met."""
    shared = dist.PrefixStore("x", dist.FileStore(store, size))
    if rank == 1:
        for key in ("proposal", "agreed", "accepted/1", "hello/0"):
            shared.set(key, '[["0", 1, "0.0"], ["0", 1, "0.0"]]')
        shared.set("hello/1", '["0", 1, "0.0"]')
        shared.set("begin", "")
    shared.wait(["begin"])
    assert len(tutti_torch._meet(shared, rank, size, datetime.timedelta(seconds=50))) == 17


@test(2)
def absent(store, rank, size):
    """A rank that meets no other one."""
    alone = dist.PrefixStore(str(rank), dist.FileStore(store, size))
    with expected(RuntimeError, f"rank {1 - rank} has not joined within 1 s"):
        tutti_torch.ProcessGroupTutti(alone, rank, size, datetime.timedelta(seconds=1))


@test(2)
def interrupted(store, rank, size):
    """Ctrl-C while the library calls the store is no error of the library."""
    class Store:
        def __init__(self, shared):
            self.wait, self.shared = shared.wait, shared

        def set(self, key, value):
            self.check(key)
            self.shared.set(key, value)

        def get(self, key):
            self.check(key)
            return self.shared.get(key)

        def check(self, key):
            if key.partition("/")[0] not in ("hello", "proposal", "accepted", "agreed"):
                raise KeyboardInterrupt
    with expected(KeyboardInterrupt):
        tutti_torch.ProcessGroupTutti(Store(dist.FileStore(store, size)), rank, size, datetime.timedelta(seconds=50))


@test(2)
def versions(store, rank, size):
    if rank == 1:
        tutti_torch.binding.INTERFACE = 1000
    with expected(RuntimeError, "rank 1 has version", "interface 1000"):
        join(store, rank, size)


@test(2)
def options(store, rank, size):
    join(store, rank, size, pg_options={"transport": "tcp", "topology": "ring"})
    dist.all_reduce(torch.ones(1))
    dist.destroy_process_group()
    with expected(ValueError, "'speed'"):
        join(store + "2", rank, size, pg_options={"speed": "high"})
    for wrong in (["ring"], {"topology": 3}):
        with expected(TypeError, "has to be a dictionary of texts"):
            tutti_torch.ProcessGroupTutti(None, rank, size, datetime.timedelta(seconds=50), wrong)


ENDINGS = {
    "at once": "",
    "destroyed": "dist.all_reduce(x); dist.destroy_process_group()",
    "not destroyed": "ddp = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 3)); dist.all_reduce(x)",
    "dropped work": "dist.all_reduce(x, async_op=True)",
    "dropped, destroyed": "dist.all_reduce(x, async_op=True); dist.destroy_process_group()",
    "works in a global": "works = [dist.all_reduce(x, async_op=True) for _ in range(3)]",
    "future": "f = dist.all_reduce(x, async_op=True).get_future().then(lambda f: f.value())",
    "sent": "w = dist.isend(x, 1) if rank == 0 else dist.recv(x, 0)",
    "subgroup": "g = dist.new_group(); dist.all_reduce(x, group=g); dist.destroy_process_group(g)",
    "in parts": "g = dist.new_group(); dist.destroy_process_group(); del g",
}


def run_ending(ending, rank, port):
    """Runs the end of a program, in a group whose store rank 0 makes at a port that it passes to rank 1."""
    receives, sends = port
    of_torch_2 = {"use_libuv": False} if torch.__version__ >= "2.4" else {}
    store = dist.TCPStore("127.0.0.1", receives.recv() if rank else 0, 2, rank == 0, wait_for_workers=False,
                          **of_torch_2)
    if rank == 0:
        sends.send(store.port)
    dist.init_process_group("tutti", store=store, rank=rank, world_size=2)
    dist.barrier()  # the store ends with rank 0
    globals().update(x=torch.ones(1000), rank=rank)
    exec(ending, globals())


def endings():
    """Programs end in all these ways, through the end of the interpreter, with no output."""
    for name, ending in ENDINGS.items():
        with tempfile.TemporaryFile() as output:
            children, port = [], multiprocessing.Pipe(duplex=False)
            for rank in range(2):
                children.append(os.fork())
                if children[-1] == 0:
                    signal.alarm(LIMIT)
                    os.dup2(output.fileno(), 1)
                    os.dup2(output.fileno(), 2)
                    try:
                        run_ending(ending, rank, port)
                    except BaseException:
                        traceback.print_exc()
                        sys.stderr.flush()
                        os._exit(1)
                    sys.exit(0)
            codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
            output.seek(0)
            text = output.read().decode()
            assert codes == [0, 0] and not text, f"{name}: exit codes {codes}\n{text}"


PROGRAM = """
import torch, torch.distributed as dist, tutti_torch
dist.init_process_group("tutti")
x = torch.ones(3)
dist.all_reduce(x)
print(int(x.sum()))
"""


def run_program(program, arguments, **environment):
    environment = {**os.environ, "USE_LIBUV": "0", "OMP_NUM_THREADS": "1", **environment,
                   "PYTHONPATH": os.pathsep.join([os.path.dirname(HERE), os.environ.get("PYTHONPATH", "")])}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w") as file:
            file.write(program)
        return subprocess.run([sys.executable, *arguments, path], env=environment, capture_output=True, text=True,
                              timeout=LIMIT)


def launched():
    found = run_program(PROGRAM, ranks.torchrun())
    if "build without libuv" in found.stderr:
        print("left out: this torchrun, such as that of Debian 13, starts no program")
        return
    assert found.returncode == 0 and "".join(found.stdout.split()) == "66", found.stdout + found.stderr


def libraries():
    """A library that is missing, or another one."""
    for path, text in (("/nowhere/libtutti_c.so", "the C library cannot be loaded: "),
                       ("libm.so.6", "is not tutti's C library")):
        found = run_program("import tutti_torch", [], TUTTI_LIBRARY=path)
        assert found.returncode != 0 and text in found.stderr and "TUTTI_LIBRARY" in found.stderr, found.stderr


def run_rank(function, store, rank, size):
    faulthandler.dump_traceback_later(LIMIT - 5, exit=True)
    torch.set_num_threads(1)
    try:
        function(store, rank, size)
    except BaseException:
        print(f"rank {rank}:", file=sys.stderr)
        traceback.print_exc()
        os._exit(1)


def run_world(function, size, ends):
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory() as folder:
        processes = [context.Process(target=run_rank, args=(function, os.path.join(folder, "store"), rank, size))
                 for rank in range(size)]
        for process in processes:
            process.start()
        until = time.monotonic() + LIMIT
        for process in processes:
            process.join(max(0, until - time.monotonic()))
        codes = [process.exitcode for process in processes]
        for process in processes:
            process.kill()
        wanted = [ends.get(rank, 0) for rank in range(size)]
        assert codes == wanted, f"exit codes {codes} instead of {wanted}"


def main():
    failed = False
    alone = {"endings": endings, "launched": launched, "libraries": libraries}
    for name in sys.argv[1:] or [*TESTS, *alone]:
        start = time.monotonic()
        try:
            if name in alone:
                alone[name]()
            else:
                function, sizes, ends = TESTS[name]
                for size in sizes:
                    run_world(function, size, ends)
        except (AssertionError, subprocess.TimeoutExpired) as error:
            failed = True
            print(f"{name}: {error}", flush=True)
        else:
            print(f"{name}: passed in {time.monotonic() - start:.1f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
