# SPDX-License-Identifier: Apache-2.0
"""Runs one contender, whose ranks sleep on a socket until they get a batch."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

from comparison.batch import Failed, figures


class World:
    def __init__(self, program, commands, ranks, patience=30.0):
        """commands(path) returns the commands to start, with environments; path is a folder of this world's own."""
        self.program = program
        self._processes = []
        self._place = tempfile.TemporaryDirectory(prefix="tutti-bench-", dir=shared_folder())
        path = self._place.name
        self._lines = []
        self._pids = set()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(os.path.join(path, "control"))
            listener.listen(ranks)
            self._log = open(os.path.join(path, "log"), "w+")
            os.mkdir(os.path.join(path, "store"))
            try:
                for command, environment in commands(path):
                    self._processes.append(subprocess.Popen(
                        [*command, f"control={path}/control"], env=environment, stdin=subprocess.DEVNULL,
                        stdout=self._log, stderr=self._log, start_new_session=True))
                self._welcome(listener, ranks, patience)
                hand_on_priority(self._pids | {p.pid for p in self._processes})
            except BaseException:
                self.end(by_force=True)
                raise

    def _welcome(self, listener, ranks, patience):
        listener.settimeout(0.2)
        until = time.monotonic() + patience
        while len(self._lines) < ranks:
            try:
                line = listener.accept()[0]
            except TimeoutError:
                if any(p.poll() is not None for p in self._processes) or time.monotonic() > until:
                    raise Failed(f"{self.program.name} does not start: {self._said()}") from None
                continue
            self._lines.append(Line(line))
            self._pids.add(self._lines[-1].next(until)["pid"])

    def run(self, words, patience):
        """Has all ranks run a batch, and returns their records. After a failure to answer, this world is unusable."""
        until = time.monotonic() + patience
        try:
            for line in self._lines:
                line.say(words)
            return [line.next(until) for line in self._lines]
        except (OSError, Failed) as why:
            said = self._said()
            self.end(by_force=True)
            raise Failed(f"{self.program.name} died or hung ({why}): {said}") from None

    def measure(self, words, patience):
        """The figures of a batch."""
        return figures(self.run(words, patience))

    @property
    def ended(self):
        return not self._processes

    def end(self, by_force=False):
        if self.ended:
            return
        for line in self._lines:
            line.close()
        if not by_force:
            try:
                for process in self._processes:
                    process.wait(10)
            except subprocess.TimeoutExpired:
                by_force = True
        if by_force:
            for pid in self._pids:
                signal_to(os.kill, pid)
            for process in self._processes:
                if process.poll() is None:
                    signal_to(os.killpg, process.pid)
                process.wait()
        self._processes = []
        self._log.close()
        self._place.cleanup()

    def _said(self):
        self._log.flush()
        self._log.seek(0)
        return " ".join(self._log.read().split())[-300:] or "it said nothing"


class Line:
    def __init__(self, stream):
        self._stream = stream
        self._heard = b""

    def say(self, words):
        self._stream.sendall(words.encode() + b"\n")

    def next(self, until):
        while b"\n" not in self._heard:
            self._stream.settimeout(max(0.001, until - time.monotonic()))
            try:
                some = self._stream.recv(65536)
            except TimeoutError:
                raise Failed("no answer in time") from None
            if not some:
                raise Failed("a rank has ended")
            self._heard += some
        text, self._heard = self._heard.split(b"\n", 1)
        return json.loads(text)

    def close(self):
        self._stream.close()


def on_this_host(program, folder, ranks, cores):
    """The commands of a program that starts its ranks itself."""
    return lambda path: [(program.command(folder, ranks, cores) + own_files(program, path), program.environment())]


def own_files(program, path):
    """The words that name the files which the ranks of one run share."""
    words = [f"meeting={path}/meeting"]
    return words + [f"store={path}/store"] if program.implementation == "gloo" else words


def shared_folder():
    return "/dev/shm" if os.path.isdir("/dev/shm") else None


def hand_on_priority(pids):
    """Gives the scheduling groups of these processes the nice level of this one. Linux may schedule each session as a
    group, and then a nice level counts only within it."""
    for pid in pids:
        try:
            with open(f"/proc/{pid}/autogroup", "w", encoding="utf-8") as f:
                f.write(str(os.getpriority(os.PRIO_PROCESS, 0)))
        except OSError:
            pass  # there are no such groups here, or this user may not


def signal_to(kill, pid):
    try:
        kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
