# SPDX-License-Identifier: Apache-2.0
"""The backend "tutti" of torch.distributed, for tensors in the memory of CPUs (python/torch.md).

    import torch.distributed as dist
    import tutti_torch

    dist.init_process_group("tutti")
"""
import atexit
import ctypes
import datetime
import functools
import itertools
import json
import os
import secrets
import sys
import threading
import time
import weakref

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d
from torch.distributed import distributed_c10d

from tutti_collectives import binding
from tutti_collectives.binding import error_room, lib

_TYPES = {getattr(torch, name): number for name, number in binding.TYPES.items() if hasattr(torch, name)}
_BYTE = binding.TYPES["byte"]

# Keys are hashes of operators, because comparing operators is slow.
_OPERATORS = {hash(getattr(dist.ReduceOp, name)): binding.OPERATORS[ours] for name, ours in (
    ("SUM", "sum"), ("AVG", "mean"), ("PRODUCT", "prod"), ("MIN", "min"), ("MAX", "max"), ("BAND", "bit_and"),
    ("BOR", "bit_or"), ("BXOR", "bit_xor"))}
_OPERATORS_OF_BOOL = {hash(getattr(dist.ReduceOp, name)): binding.OPERATORS[ours] for name, ours in (
    ("SUM", "logical_or"), ("PRODUCT", "logical_and"), ("MIN", "logical_and"), ("MAX", "logical_or"),
    ("BAND", "logical_and"), ("BOR", "logical_or"), ("BXOR", "logical_xor"))}
_AVERAGE = hash(dist.ReduceOp.AVG)

# Seconds that a group which is destroyed gives to operations under way; they are given up then.
_GRACE_PERIOD = 5


def _check(code):
    """Raises the error of the last call of this thread unless `code` is 0; calls a deadline a timeout, as torch does.
    """
    if code:
        error = binding.Error(error_room.record)
        if error.kind == binding.Kind.DEADLINE:
            error.args = (f"after the timeout of the group: {error.text}",)
        raise error


def _operator(options, tensor):
    op = getattr(options, "reduceOp", options)
    key = 0 if op is None else hash(op)
    if tensor.dtype is torch.bool:
        number = _OPERATORS_OF_BOOL.get(key)
    elif key == _AVERAGE and not (tensor.is_floating_point() or tensor.is_complex()):
        number = None
    else:
        number = _OPERATORS.get(key)
    if number is None:
        raise ValueError(f"tutti: no reduction {op} of {tensor.dtype}; reduce a tensor of another dtype")
    return number


def _refuse(tensor):
    if tensor.is_quantized:
        raise ValueError(f"tutti: a tensor is quantized ({tensor.dtype}): call tensor.dequantize()")
    if not tensor.is_cpu:
        raise ValueError(f"tutti: a tensor is on {tensor.device}, and tutti takes those on the CPU: call tensor.cpu(), "
                         "or use another backend for that device")
    if tensor.layout is not torch.strided:
        raise ValueError(f"tutti: a tensor has the layout {tensor.layout}: call tensor.to_dense()")
    raise ValueError(f"tutti: no reduction of {tensor.dtype}; convert the tensor to another dtype")


def _expect_elements(tensor):
    """Expects a tensor whose elements are numbers in the memory of the CPU."""
    if not tensor.is_cpu or tensor.layout is not torch.strided or tensor.is_quantized:
        _refuse(tensor)


def _expect_one_dtype(*tensors):
    if any(tensor.dtype is not tensors[0].dtype for tensor in tensors):
        names = " and ".join(sorted({str(tensor.dtype) for tensor in tensors}))
        raise ValueError(f"tutti: tensors of {names} in one call: convert them to one dtype by tensor.to()")


def _expect_sizes(tensors, blocks, number=1):
    """Expects tensors of the dtype of these blocks, each with as many elements as a number of them."""
    found, expected = [tensor.numel() for tensor in tensors], [number * block.numel() for block in blocks]
    if found != expected:
        raise ValueError(f"tutti: tensors of {found} elements, and not of {expected}")
    _expect_one_dtype(*tensors, *blocks)


def _contiguous(tensor):
    """Returns the tensor, or a copy of it whose elements lie one after the other, neither conjugated nor negated."""
    _expect_elements(tensor)
    if tensor.is_contiguous() and not tensor.is_conj() and not tensor.is_neg():
        return tensor
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


def _copy(source, target):
    with torch.no_grad():
        target.copy_(source)


def _copy_back(own, tensor):
    """Returns a function that copies from the contiguous copy of a tensor, if it is one."""
    return None if own is tensor else functools.partial(_copy, own, tensor)


def _type(tensor):
    number = _TYPES.get(tensor.dtype)
    if number is None:
        _refuse(tensor)
    return number


def _bytes(tensor):
    return tensor.numel() * tensor.element_size()


def _lengths(numbers):
    """Returns numbers as a C array."""
    return (ctypes.c_size_t * len(numbers))(*numbers)


def _flat(tensors):
    """Returns the elements of all tensors in one."""
    _expect_one_dtype(*tensors)
    with torch.no_grad():
        return torch.cat([_contiguous(tensor).view(-1) for tensor in tensors])


def _room(tensors):
    """Returns a tensor that has room for the elements of all."""
    _expect_one_dtype(*tensors)
    for tensor in tensors:
        _expect_elements(tensor)
    return torch.empty(sum(tensor.numel() for tensor in tensors), dtype=tensors[0].dtype)


def _part(flat, tensors):
    """Copies the elements of one tensor to all."""
    for part, tensor in zip(flat.split([tensor.numel() for tensor in tensors]), tensors):
        _copy(part.view(tensor.shape), tensor)


def _one(tensors):
    if isinstance(tensors, torch.Tensor):
        return tensors
    if len(tensors) != 1:
        raise ValueError(f"tutti: {len(tensors)} tensors in a call that takes one")
    return tensors[0]


def _caller_waits():
    """Returns True if the function of torch.distributed that called the group waits at once, False if it returns the
    Work, None if another function called, such as DDP's reducer in C++.

    No option says so in all versions of torch, but its functions have an argument `async_op`.
    """
    frame = sys._getframe(2)
    if frame.f_globals is not distributed_c10d.__dict__:
        return None
    names = frame.f_locals
    if "async_op" in names:
        return not names["async_op"]
    return frame.f_code.co_name not in ("isend", "irecv", "_coalescing_manager") or not names.get("async_ops", True)


class _Work(c10d.Work):
    """An operation that has ended, or that the library runs.

    Only for callers in Python: C++ gets the Work of a future, for it does not keep a Python object alive.
    """

    def __init__(self, group=None, result=(), finish=None, keep=()):
        super().__init__()
        self._group, self._result, self._finish, self._keep = group, result, finish, keep
        self._request = self._error = self._future = self._completion = self._sender = None
        self._lock = threading.RLock()

    def wait(self, timeout=None):
        seconds = timeout.total_seconds() if timeout is not None else 0
        has_limit, is_late = seconds > 0, False
        with self._lock:
            if self._request is not None:
                limit = min(int(seconds * 1e9), binding.NO_DEADLINE) if has_limit else -1
                code = lib.tutti_wait(ctypes.byref(self._request), limit, error_room.at)
                is_late = code == binding.NOT_YET
                if not is_late:
                    self._end(code)
        if self._completion is not None:
            is_late = not self._completion.wait(min(seconds, threading.TIMEOUT_MAX) if has_limit else None)
        if is_late:
            raise RuntimeError(f"tutti: wait timed out after {seconds} s; the operation continues")
        if self._error is not None:
            raise self._error
        return True

    def _end(self, code):
        """Ends the work, under its lock, when the operation has ended with this number."""
        self._request = None
        try:
            _check(code)
            if self._finish is not None:
                self._finish()
        except Exception as error:
            self._error = error
        self._finish, self._keep = None, ()
        self._group.forget(self)

    def is_completed(self):
        if self._future is not None:
            return self._future.done()
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._request is not None:
                code = lib.tutti_test(ctypes.byref(self._request), error_room.at)
                if code != binding.NOT_YET:
                    self._end(code)
            return self._request is None
        finally:
            self._lock.release()

    def is_success(self):
        return self.is_completed() and self._error is None

    def exception(self):
        return self._error

    def result(self):
        self.wait()
        return list(self._result)

    def synchronize(self):
        self.wait()

    def source_rank(self):
        self.wait()
        return self._sender.value

    _source_rank = source_rank

    def get_future(self):
        """Returns a future of the result, which the library's thread completes if the operation has not ended."""
        with self._lock:
            if self._future is None:
                base = torch.futures.Future()
                # C++ takes an exception that is set in a Python future for a value; one that is raised is an error.
                self._future, completion = base.then(_outcome), threading.Event()
                self._future.add_done_callback(lambda _: completion.set())
                self._completion = completion
                request, self._request = self._request, None
                if request is not None:
                    ticket = next(_tickets)
                    _handed_over[ticket] = self, base
                    code = lib.tutti_on_end(request, _on_end, ticket, error_room.at)
                    if code == 0:
                        return self._future
                    del _handed_over[ticket]
                    self._end(code)
                base.set_result((self._result, self._error))
            return self._future

    def __del__(self):
        if self._request is not None and self._group.is_own():
            orphan = _Work(self._group, self._result, self._finish, self._keep)
            orphan._request = self._request
            self._group.remember(orphan)
            orphan.get_future()


def _outcome(base):
    result, error = base.value()
    if error is not None:
        raise error
    return list(result)


_tickets = itertools.count(1)
_handed_over = {}


class _Callbacks(threading.local):
    """`running` is True in a thread while the library calls a function in it."""

    running = False


_callbacks = _Callbacks()


def _complete(ticket, failure, error):
    work, base = _handed_over.pop(ticket)
    if failure:
        ctypes.memmove(error_room.at, error, ctypes.sizeof(binding.ErrorRecord))
    with work._lock:
        work._end(failure)
    base.set_result((work._result, work._error))


def _ended(ticket, failure, error):
    """Ends a work that was handed over, which may be the last that refers to its group. The library's thread calls it.
    """
    outer, _callbacks.running = _callbacks.running, True
    try:
        _complete(ticket, failure, error)
    finally:
        _callbacks.running = outer


_on_end = binding.END(_ended)


def _completed(result):
    future = torch.futures.Future()
    future.set_result(list(result))
    return future


_done = _Work()


def _meet(store, rank, size, timeout):
    """Returns a prefix of keys that is equal on all ranks and that no earlier world has used, though the store may hold
    the keys of one. Checks that all ranks have libraries that understand each other.

    Rank 0 lists what the ranks present themselves with, and all of them confirm a list that has their own part.
    """
    until = time.monotonic() + timeout.total_seconds()

    def late(other):
        waits = ", or waits for a rank that has not" if other == 0 and size > 2 else ""
        return RuntimeError(f"tutti: rank {other} has not joined within {timeout.total_seconds():g} s{waits}")

    def present(name, owner):
        left = max(until - time.monotonic(), 0.001)
        try:
            store.wait([name], datetime.timedelta(seconds=left))
        except Exception as error:  # stores and versions of torch have several for a timeout
            if time.monotonic() < until - 0.01:
                raise
            raise late(owner) from error
        return store.get(name).decode()

    own = json.dumps([secrets.token_hex(8), binding.INTERFACE, lib.tutti_version().decode()])
    store.set(f"hello/{rank}", own)
    proposal = None
    while True:
        if rank == 0:
            found = json.dumps([own] + [present(f"hello/{r}", r) for r in range(1, size)])
            if found != proposal:
                proposal = found
                store.set("proposal", proposal)
            missing = [r for r in range(1, size) if present(f"accepted/{r}", r) != proposal]
            if not missing:
                store.set("agreed", proposal)
                break
        else:
            missing, proposal = [0], present("proposal", 0)
            if json.loads(proposal)[rank:rank + 1] == [own]:
                store.set(f"accepted/{rank}", proposal)
                if present("agreed", 0) == proposal:
                    break
        if time.monotonic() > until:
            raise late(missing[0])
        time.sleep(0.001)
    ranks = [json.loads(each) for each in json.loads(proposal)]
    for other, (_, interface, version) in enumerate(ranks):
        if [interface, version] != ranks[0][1:]:
            raise RuntimeError(f"tutti: rank 0 has version {ranks[0][2]} of the C library with interface "
                               f"{ranks[0][1]}, and rank {other} has version {version} with interface {interface}: "
                               "install one version on all hosts")
    return ranks[0][0] + "/"


def _texts(options):
    """Returns a copy of the options of the caller."""
    options = {} if options is None else options
    if not isinstance(options, dict) or not all(isinstance(text, str) for text in options.values()):
        raise TypeError(f"tutti: pg_options is {options!r}, and has to be a dictionary of texts")
    return dict(options)


def _store_record(store, prefix, errors):
    def put(_, key, data, size):
        try:
            store.set(prefix + key.decode(), ctypes.string_at(data, size))
            return 0
        except BaseException as error:
            errors.append(error)
            return -1

    def get(_, key, to, room):
        try:
            value = store.get(prefix + key.decode())
            ctypes.memmove(to, value, min(len(value), room))
            return len(value)
        except BaseException as error:
            errors.append(error)
            return -1

    return binding.StoreRecord(binding.STORE_SET(put), binding.STORE_GET(get), None)


_groups = weakref.WeakSet()


class ProcessGroupTutti(dist.ProcessGroup):
    """A process group whose operations are those of a tutti world.

    `options` may have texts named "transport" and "topology", as tutti_options of tutti/c.h has them.
    """

    def __init__(self, store, rank, size, timeout, options=None):
        super().__init__(rank, size)
        self._world, self._process = None, os.getpid()
        self._rank, self._size = rank, size
        # Weak references to works that have not ended. Any thread may change the set, also while garbage is collected.
        self._open = set()
        self._departure = threading.RLock()
        self._coalesced = None
        self._name = self._description = ""
        options = _texts(options)
        record = binding.OptionsRecord(ctypes.sizeof(binding.OptionsRecord), background=1)
        record.deadline = min(int(timeout.total_seconds() * 1e9), binding.NO_DEADLINE)
        for name in ("transport", "topology"):
            setattr(record, name, options.pop(name, "").encode() or None)
        if options:
            raise ValueError(f"tutti: no option {sorted(options)}; there are transport and topology")
        errors = []
        try:
            meeting = _store_record(store, _meet(store, rank, size, timeout), errors)
            world = ctypes.c_void_p()
            _check(lib.tutti_join_store(ctypes.byref(meeting), rank, size, ctypes.byref(record), ctypes.byref(world),
                                       error_room.at))
        except binding.Error as error:
            if errors and not isinstance(errors[0], Exception):
                raise errors[0] from None
            raise error from (errors[0] if errors else None)
        self._world = world.value
        _groups.add(self)

    def getBackendName(self):
        return "tutti"

    def name(self):
        return "tutti"

    def rank(self):
        return self._rank

    def size(self):
        return self._size

    def is_own(self):
        """True if this process made the group, and has not left it."""
        return self._world is not None and self._process == os.getpid()

    def remember(self, work):
        self._open.add(weakref.ref(work, self._open.discard))

    def forget(self, work):
        self._open.discard(weakref.ref(work))

    def shutdown(self):
        """Leaves the world. Operations under way get some seconds, and are given up then."""
        if self._process != os.getpid():
            return
        if _callbacks.running:  # in the library's thread, which cannot wait for its own end
            threading.Thread(target=self.shutdown).start()
            return
        with self._departure:
            if self.is_own():
                if not self._have_ended():
                    self.abort()
                    self._have_ended()
                world, self._world = self._world, None
                lib.tutti_leave(world)

    def _have_ended(self):
        until = time.monotonic() + _GRACE_PERIOD
        while not all(work is None or work.is_completed() for work in [one() for one in self._open.copy()]):
            if time.monotonic() > until:
                return False
            time.sleep(0.0005)
        return True

    def abort(self):
        if self._world is not None:
            lib.tutti_abort(self._world, b"abort of the process group")

    def __del__(self):
        if getattr(self, "_world", None) is not None:
            self.shutdown()

    def _set_sequence_number_for_group(self):
        pass

    # The base class keeps these in backends, which this group does not have.

    def _set_group_name(self, name):
        self._name = name

    def _set_group_desc(self, description):
        self._description = description

    @property
    def group_name(self):
        return self._name

    @property
    def group_desc(self):
        return self._description

    def _run(self, waits, result, finish, keep, function, *arguments):
        """Runs an operation of the library, or starts it, and returns the Work that the caller wants. `finish` is
        called at its end, and `keep` are objects whose memory it uses.

        A collective that C++ calls runs at once, too: handing it to another thread costs more than it hides, and the
        functions that wait for its future then run in the same order on all ranks.
        """
        if self._world is None:
            raise RuntimeError("tutti: this process group was destroyed")
        if waits is not False or _callbacks.running:
            _check(function(self._world, *arguments, None, error_room.at))
            if finish is not None:
                finish()
            if waits:
                return _done
            return _Work(result=result) if waits is False else c10d._create_work_from_future(_completed(result))
        work = _Work(self, result, finish, keep)
        request = ctypes.c_void_p()
        try:
            _check(function(self._world, *arguments, ctypes.byref(request), error_room.at))
        except binding.Error:
            self._coalesced = None
            raise
        work._request = request
        self.remember(work)
        if self._coalesced is not None:
            self._coalesced.append(work)
        return work

    def _pass_message(self, waits, *arguments):
        """Sends or receives. The message of a caller in C++ is started, for it may wait for one that follows."""
        work = self._run(bool(waits), *arguments)
        return work if waits is not None else c10d._create_work_from_future(work.get_future())

    def allreduce(self, tensors, opts=None):
        return self._allreduce(_caller_waits(), _one(tensors), opts)

    def _allreduce(self, waits, tensor, opts, finish=None, result=None):
        own = _contiguous(tensor)
        finish = finish or _copy_back(own, tensor)
        at = own.data_ptr()
        return self._run(waits, result or [tensor], finish, own, lib.tutti_allreduce, at, at, own.numel(), _type(own),
                         _operator(opts, own))

    def allreduce_coalesced(self, tensors, opts=None):
        flat = _flat(tensors)
        return self._allreduce(_caller_waits(), flat, opts, functools.partial(_part, flat, tensors), tensors)

    def reduce(self, tensors, opts):
        tensor = _one(tensors)
        own = _contiguous(tensor)
        is_root = self._rank == opts.rootRank
        finish = _copy_back(own, tensor) if is_root else None
        at = own.data_ptr()
        return self._run(_caller_waits(), [tensor], finish, own, lib.tutti_reduce, at, at if is_root else None,
                         own.numel(), _type(own), _operator(opts, own), opts.rootRank)

    def broadcast(self, tensors, opts):
        tensor = _one(tensors)
        own = _contiguous(tensor)
        finish = _copy_back(own, tensor)
        return self._run(_caller_waits(), [tensor], finish, own, lib.tutti_broadcast, own.data_ptr(), _bytes(own),
                         _BYTE, opts.rootRank)

    def allgather(self, outputs, inputs, opts=None):
        parts, own = _one(outputs), _contiguous(_one(inputs))
        self._expect(parts)
        _expect_one_dtype(own, *parts)
        if own.numel() != parts[self._rank].numel():
            raise ValueError(f"tutti: rank {self._rank} gathers {own.numel()} elements into a tensor of "
                             f"{parts[self._rank].numel()}")
        flat = _room(parts)
        return self._run(_caller_waits(), parts, functools.partial(_part, flat, parts), (own, flat),
                         lib.tutti_allgather, own.data_ptr(), flat.data_ptr(), 0,
                         _lengths([_bytes(part) for part in parts]), _BYTE)

    def _allgather_base(self, output, own, opts=None):
        return self._allgather_into(_caller_waits(), output, own)

    def _allgather_into(self, waits, output, own, finish=None, result=None):
        _expect_one_dtype(own, output)
        own, flat = _contiguous(own), _contiguous(output)
        if own.numel() * self._size != flat.numel():
            raise ValueError(f"tutti: {self._size} ranks gather {own.numel()} elements each into a tensor of "
                             f"{flat.numel()}")
        finish = finish or _copy_back(flat, output)
        return self._run(waits, result or [output], finish, (own, flat), lib.tutti_allgather, own.data_ptr(),
                         flat.data_ptr(), _bytes(flat), None, _BYTE)

    def allgather_coalesced(self, outputs, inputs, opts=None):
        self._expect(outputs)
        for of_rank in outputs:
            _expect_sizes(of_rank, inputs)
        flat = _flat(inputs)
        parts = flat.new_empty((self._size, flat.numel()))

        def finish():
            for part, of_rank in zip(parts, outputs):
                _part(part, of_rank)
        return self._allgather_into(_caller_waits(), parts, flat, finish, [t for each in outputs for t in each])

    def allgather_into_tensor_coalesced(self, outputs, inputs, opts=None):
        _expect_sizes(outputs, inputs, self._size)
        flat = _flat(inputs)
        parts = flat.new_empty((self._size, flat.numel()))

        def finish():
            columns = parts.split([tensor.numel() for tensor in inputs], 1)
            for output, column in zip(outputs, columns):
                _copy(column.reshape(output.shape), output)
        return self._allgather_into(_caller_waits(), parts, flat, finish, outputs)

    def gather(self, outputs, inputs, opts):
        own = _contiguous(_one(inputs))
        parts = _one(outputs) if self._rank == opts.rootRank else []
        flat = finish = None
        if self._rank == opts.rootRank:
            self._expect(parts, own)
            flat = _room(parts)
            finish = functools.partial(_part, flat, parts)
        return self._run(_caller_waits(), parts, finish, (own, flat), lib.tutti_gather, own.data_ptr(),
                         None if flat is None else flat.data_ptr(), _bytes(own) * self._size, None, _BYTE,
                         opts.rootRank)

    def scatter(self, outputs, inputs, opts):
        tensor = _one(outputs)
        own = _contiguous(tensor)
        flat = None
        if self._rank == opts.rootRank:
            self._expect(_one(inputs), own)
            flat = _flat(_one(inputs))
        finish = _copy_back(own, tensor)
        return self._run(_caller_waits(), [tensor], finish, (own, flat), lib.tutti_scatter,
                         None if flat is None else flat.data_ptr(), own.data_ptr(), _bytes(own) * self._size, None,
                         _BYTE, opts.rootRank)

    def reduce_scatter(self, outputs, inputs, opts=None):
        output, parts = _one(outputs), _one(inputs)
        self._expect(parts)
        return self._reduce_scatter_into(_caller_waits(), output, _flat(parts), opts,
                                         [part.numel() for part in parts])

    def _reduce_scatter_base(self, output, parts, opts=None):
        return self._reduce_scatter_into(_caller_waits(), output, parts, opts)

    def _reduce_scatter_into(self, waits, output, parts, opts, lengths=None, finish=None, result=None):
        _expect_one_dtype(output, parts)
        own, flat = _contiguous(output), _contiguous(parts)
        lengths = lengths or [own.numel()] * self._size
        if sum(lengths) != flat.numel() or lengths[self._rank] != own.numel():
            raise ValueError(f"tutti: rank {self._rank} of {self._size} reduces {flat.numel()} elements into a tensor "
                             f"of {own.numel()}")
        finish = finish or _copy_back(own, output)
        return self._run(waits, result or [output], finish, (own, flat), lib.tutti_reduce_scatter, flat.data_ptr(),
                         own.data_ptr(), flat.numel(), _lengths(lengths), _type(flat), _operator(opts, flat))

    def reduce_scatter_tensor_coalesced(self, outputs, inputs, opts=None):
        _expect_sizes(inputs, outputs, self._size)
        own = _room(outputs)
        flat = torch.cat([_contiguous(part).view(self._size, output.numel())
                          for part, output in zip(inputs, outputs)], 1)
        return self._reduce_scatter_into(_caller_waits(), own, flat, opts, None, functools.partial(_part, own, outputs),
                                         outputs)

    def alltoall(self, outputs, inputs, opts=None):
        self._expect(outputs)
        self._expect(inputs)
        _expect_one_dtype(*outputs, *inputs)
        outgoing, incoming = _flat(inputs), _room(outputs)
        return self._alltoallv(_caller_waits(), incoming, outgoing, [_bytes(t) for t in outputs],
                               [_bytes(t) for t in inputs], functools.partial(_part, incoming, outputs), outputs)

    def alltoall_base(self, output, own, output_splits, input_splits, opts=None):
        _expect_one_dtype(output, own)
        incoming, outgoing = _contiguous(output), _contiguous(own)
        finish = _copy_back(incoming, output)
        return self._alltoallv(_caller_waits(), incoming, outgoing, self._split(incoming, output_splits),
                               self._split(outgoing, input_splits), finish, [output])

    def _split(self, tensor, splits):
        """Returns the bytes of the parts of a tensor, which is split in its first dimension."""
        rows = tensor.shape[0] if tensor.dim() > 0 else 1
        if not splits:
            if rows % self._size != 0:
                raise ValueError(f"tutti: {rows} rows cannot be split among {self._size} ranks; give split sizes")
            splits = [rows // self._size] * self._size
        if len(splits) != self._size or sum(splits) != rows:
            raise ValueError(f"tutti: split sizes {list(splits)} of {rows} rows among {self._size} ranks")
        row = _bytes(tensor) // max(rows, 1)
        return [split * row for split in splits]

    def _alltoallv(self, waits, incoming, outgoing, received, sent, finish, result):
        return self._run(waits, result, finish, (incoming, outgoing), lib.tutti_alltoallv, outgoing.data_ptr(),
                         _lengths(sent), incoming.data_ptr(), _lengths(received), _BYTE)

    def barrier(self, opts=None):
        return self._run(_caller_waits(), [], None, (), lib.tutti_barrier)

    def send(self, tensors, receiver, tag=0):
        tensor = _one(tensors)
        own = _contiguous(tensor)
        if tag != 0:
            own = _tagged(own, tag)
        return self._pass_message(_caller_waits(), [tensor], None, own, lib.tutti_send, own.data_ptr(),
                                  *_amount(own, tag), receiver)

    def recv(self, tensors, sender, tag=0):
        return self._recv(_caller_waits(), _one(tensors), tag, lib.tutti_recv, sender)

    def recv_anysource(self, tensors, tag=0):
        waits, sender = _caller_waits() or False, ctypes.c_uint32()
        work = self._recv(waits, _one(tensors), tag, lib.tutti_recv_any, ctypes.byref(sender))
        if work is _done:
            work = _Work()
        work._sender = sender
        return work

    def _recv(self, waits, tensor, tag, function, sender):
        own = _contiguous(tensor)
        room = own if tag == 0 else _tagged(own, tag)

        def finish():
            if tag != 0:
                found, size = room[:16].view(torch.int64).tolist()
                if (found, size) != (tag, _bytes(own)):
                    raise RuntimeError(f"tutti: a message of {size} bytes with the tag {found} came first, and recv "
                                       f"expects {_bytes(own)} bytes with the tag {tag}")
                _copy(room[16:16 + size], own.view(-1).view(torch.uint8))
            if own is not tensor:
                _copy(own, tensor)
        return self._pass_message(waits, [tensor], None if room is tensor else finish, (own, room), function,
                                  room.data_ptr(), *_amount(room, tag), sender)

    def _start_coalescing(self, device=None):
        self._coalesced = []

    def _end_coalescing(self, *unused):
        works, self._coalesced = self._coalesced or [], None
        return _All(works)

    def _expect(self, parts, own=None):
        """Expects one tensor for each rank, with as many elements as `own` and its dtype."""
        if len(parts) != self._size:
            raise ValueError(f"tutti: {len(parts)} tensors for {self._size} ranks; give one for each rank")
        if own is not None:
            _expect_sizes(parts, [own] * self._size)


class _All(_Work):
    """The works of a coalescing manager."""

    def __init__(self, works):
        super().__init__(result=[tensor for work in works for tensor in work._result])
        self._works = works

    def wait(self, timeout=None):
        return all([work.wait(timeout) for work in self._works])

    def is_completed(self):
        return all([work.is_completed() for work in self._works])

    def is_success(self):
        return all([work.is_success() for work in self._works])

    def exception(self):
        return next((work.exception() for work in self._works if work.exception() is not None), None)

    def get_future(self):
        def outcome(all_ended):
            all_ended.value()
            return list(self._result)
        return torch.futures.collect_all([work.get_future() for work in self._works]).then(outcome)


def _tagged(tensor, tag):
    """Returns a message of 8-byte records: a tag, the number of bytes, and the elements of a tensor."""
    size = _bytes(tensor)
    message = torch.zeros(16 + (size + 7) // 8 * 8, dtype=torch.uint8)
    message[:16].view(torch.int64).copy_(torch.tensor([tag, size]))
    message[16:16 + size] = tensor.view(-1).view(torch.uint8)
    return message


def _amount(tensor, tag):
    """Returns the number of elements and the type of a message: messages with tag and without do not match."""
    return (_bytes(tensor), _BYTE) if tag == 0 else (_bytes(tensor) // 8, binding.record(8))


@atexit.register
def _leave():
    """Leaves all worlds while there is an interpreter that the library's threads can call."""
    for group in list(_groups):
        group.shutdown()


def register(name, group_class):
    """Makes a class of process groups known to torch.distributed as a backend."""
    def create(options, own):
        return group_class(options.store, options.group_rank, options.group_size, options.timeout, own)
    try:
        dist.Backend.register_backend(name, create, extended_api=True, devices=["cpu"])
    except TypeError:  # torch 1.13
        dist.Backend.register_backend(name, create, extended_api=True)


register("tutti", ProcessGroupTutti)
