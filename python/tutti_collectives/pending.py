# SPDX-License-Identifier: Apache-2.0
"""Operations that were started, and their end."""
import ctypes
import math

from .binding import END, NO_DEADLINE, NOT_YET, Error, error_room, lib

SLICE = 100_000_000  # the nanoseconds in C after which Python handles signals, such as that of Ctrl-C


def nanoseconds(seconds):
    """Returns a limit for C."""
    return NO_DEADLINE if seconds == math.inf else min(round(seconds * 1e9), NO_DEADLINE)


class Pending:
    """An operation that was started. It keeps its arrays alive until it has ended, also if nothing refers to it.

    While something refers to it, it keeps its world, too. The end function of the operation must not hold the last
    reference to the world, for the library's thread cannot leave it.
    """

    def __init__(self, world, keeps, result):
        self.request, self._error = ctypes.c_void_p(), None
        self._world, self._keeps, self._result = world, (keeps, result), result

    def _ended(self, code):
        if code not in (0, NOT_YET):
            self._error = Error(error_room.record)
        return code != NOT_YET

    def wait(self, timeout=math.inf):
        """Waits at most `timeout` seconds, else raises TimeoutError. Returns the result."""
        left = nanoseconds(timeout)
        while self.request and not self._ended(
                lib.tutti_wait(ctypes.byref(self.request), min(left, SLICE), error_room.at)):
            left -= SLICE
            if left <= 0:
                raise TimeoutError(f"the operation has not ended within {timeout} s, and continues")
        if self._error:
            raise self._error
        return self._result() if callable(self._result) else self._result

    def done(self):
        """Returns True if the operation has ended, also with an error."""
        return not self.request or self._ended(lib.tutti_test(ctypes.byref(self.request), error_room.at))

    def cancel(self):
        """Gives the operation up. The world fails on all ranks, unless the operation has ended."""
        lib.tutti_cancel(self.request)
        self.request.value = None

    def __del__(self):
        if self.request:
            _dropped[id(self._keeps)] = self._keeps
            lib.tutti_on_end(self.request, _forget, id(self._keeps), None)


_dropped = {}
_forget = END(lambda key, failure, error: _dropped.pop(key, None) and None)


def leave(handle, pending):
    """Leaves a world, after what was started in it has been cancelled."""
    for one in list(pending):
        one.cancel()
    lib.tutti_leave(handle)
