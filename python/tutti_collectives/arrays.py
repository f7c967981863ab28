# SPDX-License-Identifier: Apache-2.0
"""Arrays and operators as C takes them: numbers, addresses, and the texts that refuse others."""
import ctypes
import math
from functools import lru_cache
from operator import index

import numpy

from .binding import OPERATORS, TYPES, record


def operator_of(op):
    """Returns C's number of an operator."""
    if op not in OPERATORS:
        raise ValueError(f"there is no operator {op!r}: op is one of {', '.join(OPERATORS)}")
    return OPERATORS[op]


@lru_cache(maxsize=None)
def type_of(dtype, combines=False):
    """Returns C's number of a dtype. A dtype without arithmetic is moved as records of its size."""
    if dtype.isnative and dtype.name in TYPES:
        return TYPES[dtype.name]
    if combines or dtype.hasobject or dtype.itemsize == 0:
        raise TypeError(f"arrays of dtype {dtype} cannot be {'combined' if combines else 'sent'}: convert them by "
                        f"x.astype() to one of {', '.join(name for name in TYPES if name != 'byte')}")
    return record(dtype.itemsize)


def source(x, name="x"):
    """Returns an array to be read."""
    array = numpy.asarray(x)
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise ValueError(f"{name} is not contiguous and aligned (shape {array.shape}, strides {array.strides}): "
                         f"pass {name}.copy()")
    return array


def target(out, name="out"):
    """Returns an array to be written, in the memory of the caller's object."""
    array = source(out, name)
    if array is not out and array.flags.owndata:
        raise TypeError(f"{name} is a {type(out).__name__}, which has no memory to write to: pass a numpy array")
    if not array.flags.writeable:
        raise ValueError(f"{name} is read-only: pass {name}.copy()")
    return array


def fitting(array, shape, dtype, name="out"):
    """Returns the array if it has this dtype and as many elements."""
    if array.dtype != dtype or array.size != math.prod(shape):
        raise ValueError(f"{name} has dtype {array.dtype} and shape {array.shape}, and not {dtype} and {shape}")
    return array


def result(out, shape, dtype):
    """Returns the caller's array for a result, or a new one."""
    return numpy.empty(shape, dtype) if out is None else fitting(target(out), shape, dtype)


def address(argument):
    """Returns the address of an array; another argument as it is."""
    if type(argument) is not numpy.ndarray:
        return argument
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(argument))  # the fastest way, for most arrays
    except (TypeError, ValueError):  # a read-only or empty one, or of a dtype without buffers
        return argument.ctypes.data


def within(block, whole, offset):
    """Returns `whole` if `block` is the part of it at this element, which tells C that it is in place; else `block`."""
    return whole if address(block) == address(whole) + offset * whole.itemsize else block


def even_rows(world, x):
    """Returns the numbers of rows of the blocks of numpy.array_split."""
    if x.ndim == 0:
        raise ValueError("x is a single number, and has to have rows, some for each rank")
    return [len(x) // world.size + (r < len(x) % world.size) for r in range(world.size)]


def row_counts(world, lengths):
    """Returns the caller's numbers of rows of the blocks of all ranks."""
    rows = [index(n) for n in lengths]
    if len(rows) != world.size or min(rows) < 0:
        raise ValueError(f"{rows} has to be the numbers of rows of {world.size} blocks, one for each rank")
    return rows


def elements(world, rows, shape):
    """Returns the lengths for C of blocks of these numbers of rows, of the arrays of this shape."""
    return (ctypes.c_size_t * world.size)(*(n * math.prod(shape[1:]) for n in rows))


def blocks(world, lengths, shape):
    """Returns the lengths for C, the elements before this rank's block, which has this shape, and the whole shape."""
    if lengths is None:
        return None, world.rank * math.prod(shape), (world.size, *shape)
    rows = row_counts(world, lengths)
    if shape[:1] != (rows[world.rank],):
        raise ValueError(f"lengths[{world.rank}] is {rows[world.rank]}, and the block of this rank has the shape "
                         f"{shape}")
    counts = elements(world, rows, shape)
    return counts, sum(counts[:world.rank]), (sum(rows), *shape[1:])
