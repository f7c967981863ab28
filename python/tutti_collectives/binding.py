# SPDX-License-Identifier: Apache-2.0
"""The C library, loaded by ctypes: its functions, structures and numbers as in tutti/c.h, and the exception Error.

Loads the file that TUTTI_LIBRARY names, else libtutti_c.so beside this file, else the system's. Functions return a
number, which `check` makes an exception of:

    check(lib.tutti_barrier(world, None, error_room.at))
"""
import ctypes
import enum
import os
import threading

INTERFACE = 1
NO_DEADLINE = 2**63 - 1
NO_PART = NO_RANK = 2**32 - 1
MOST_AT_FAULT = 16


class Kind(enum.IntEnum):
    """The kinds of errors: tutti_failure."""

    OK = 0
    PEER_LOST = 1
    DEADLINE = 2
    MISMATCH = 3
    CANCELLED = 4
    PROTOCOL = 5
    JOIN = 6
    UNREACHABLE = 7
    ABORTED = 8
    NOT_YET = 100
    MISUSE = 101
    SYSTEM = 102


NOT_YET = int(Kind.NOT_YET)

TYPES = {name: number for number, name in enumerate((
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128", "bool", "byte"))}

OPERATORS = {name: number for number, name in enumerate((
    "sum", "prod", "min", "max", "mean", "logical_and", "logical_or", "logical_xor", "bit_and", "bit_or", "bit_xor"))}


def record(size):
    """Returns the type of records of `size` bytes."""
    return 0x80000000 | size


class ErrorRecord(ctypes.Structure):
    """tutti_error"""

    _fields_ = [("kind", ctypes.c_int32), ("self_rank", ctypes.c_uint32), ("sequence", ctypes.c_uint64),
                ("step", ctypes.c_uint32), ("at_fault_count", ctypes.c_uint32),
                ("at_fault", ctypes.c_uint32 * MOST_AT_FAULT), ("communicator", ctypes.c_char * 64),
                ("operation", ctypes.c_char * 128), ("text", ctypes.c_char * 1024)]


class OptionsRecord(ctypes.Structure):
    """tutti_options"""

    _fields_ = [("size", ctypes.c_size_t), ("transport", ctypes.c_char_p), ("topology", ctypes.c_char_p),
                ("role", ctypes.c_char_p), ("deadline", ctypes.c_int64), ("background", ctypes.c_int32),
                ("reserved", ctypes.c_int32)]


STORE_SET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
STORE_GET = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)


class StoreRecord(ctypes.Structure):
    """tutti_store"""

    _fields_ = [("set", STORE_SET), ("get", STORE_GET), ("context", ctypes.c_void_p)]


class MessageRecord(ctypes.Structure):
    """tutti_message"""

    _fields_ = [("data", ctypes.c_void_p), ("count", ctypes.c_size_t), ("type", ctypes.c_uint32),
                ("rank", ctypes.c_uint32), ("receives", ctypes.c_int32), ("any_length", ctypes.c_int32)]


FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)
END = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ErrorRecord))


class Error(RuntimeError):
    """An operation that failed, or a mistake of the caller.

    kind       the Kind
    ranks      the ranks at fault
    operation  the operation, such as "allreduce(sum float32 x 1000, ring)"
    sequence   the number of the operation, equal on all ranks
    rank       the rank that reports it; None before it has one
    text       all of it, for a person
    """

    def __init__(self, source):
        self.kind = Kind(source.kind)
        self.ranks = tuple(source.at_fault[:min(source.at_fault_count, MOST_AT_FAULT)])
        self.operation = source.operation.decode(errors="replace")
        self.sequence = source.sequence
        self.rank = None if source.self_rank == NO_RANK else source.self_rank
        self.text = source.text.decode(errors="replace")
        super().__init__(self.text)

    def __reduce__(self):
        return _restored, (self.__dict__.copy(),)


def _restored(fields):
    error = Error.__new__(Error)
    RuntimeError.__init__(error, fields["text"])
    error.__dict__.update(fields)
    return error


class _ErrorRoom(threading.local):
    """The error record of each thread, and its address, to be passed to functions."""

    def __init__(self):
        self.record = ErrorRecord()
        self.at = ctypes.addressof(self.record)


error_room = _ErrorRoom()


def check(code):
    """Raises the error of the last call of this thread unless `code` is 0."""
    if code:
        raise Error(error_room.record)


def _declare(library):
    pointer, size, number, i64 = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32, ctypes.c_int64
    text, integer = ctypes.c_char_p, ctypes.c_int
    world = data = lengths = request = error = pointer  # addresses cost the least
    kind = op = root = number
    functions = {
        "interface": (number,),
        "version": (text,),
        "op_create": (integer, text, kind, FUNCTION, pointer, integer, pointer, error),
        "op_free": (None, op),
        "join": (integer, pointer, pointer, error),
        "join_store": (integer, pointer, number, number, pointer, pointer, error),
        "split": (integer, world, number, i64, pointer, error),
        "dup": (integer, world, pointer, error),
        "leave": (None, world),
        "rank": (number, world),
        "size": (number, world),
        "name": (text, world),
        "transport": (text, world),
        "set_deadline": (integer, world, i64, error),
        "abort": (None, world, text),
        "explain": (size, world, text, size, pointer, size),
        "allreduce": (integer, world, data, data, size, kind, op, request, error),
        "reduce": (integer, world, data, data, size, kind, op, root, request, error),
        "reduce_scatter": (integer, world, data, data, size, lengths, kind, op, request, error),
        "scan": (integer, world, data, data, size, kind, op, request, error),
        "exscan": (integer, world, data, data, size, kind, op, request, error),
        "broadcast": (integer, world, data, size, kind, root, request, error),
        "allgather": (integer, world, data, data, size, lengths, kind, request, error),
        "gather": (integer, world, data, data, size, lengths, kind, root, request, error),
        "scatter": (integer, world, data, data, size, lengths, kind, root, request, error),
        "alltoall": (integer, world, data, data, size, kind, request, error),
        "alltoallv": (integer, world, data, lengths, data, lengths, kind, request, error),
        "barrier": (integer, world, request, error),
        "send": (integer, world, data, size, kind, number, request, error),
        "recv": (integer, world, data, size, kind, number, request, error),
        "recv_any": (integer, world, data, size, kind, pointer, request, error),
        "exchange": (integer, world, pointer, size, request, error),
        "wait": (integer, request, i64, error),
        "test": (integer, request, error),
        "cancel": (None, pointer),
        "on_end": (integer, pointer, END, pointer, error),
        "poll": (integer, world, error),
    }
    for name, (result, *arguments) in functions.items():
        function = getattr(library, "tutti_" + name)
        function.restype, function.argtypes = result, arguments


def _load():
    named = os.environ.get("TUTTI_LIBRARY")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtutti_c.so")
    path = named or (beside if os.path.exists(beside) else "libtutti_c.so")
    remedy = "; set TUTTI_LIBRARY to libtutti_c.so, or install both with `pip install .` in tutti's python/"
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"tutti: the C library cannot be loaded: {error}{remedy}") from None
    try:
        library.tutti_version.restype = ctypes.c_char_p
        found, version = library.tutti_interface(), library.tutti_version().decode()
    except AttributeError:
        raise ImportError(f"tutti: {path} is not tutti's C library{remedy}") from None
    if found != INTERFACE:
        raise ImportError(f"tutti: {path} is version {version} with interface {found}, and this package needs "
                          f"interface {INTERFACE}{remedy}")
    _declare(library)
    return library


lib = _load()
