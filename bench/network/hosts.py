# SPDX-License-Identifier: Apache-2.0
"""Makes hosts of network namespaces, counts the bytes between them, and always removes them at the end."""
import json
import os
import re
import shutil
import signal
import subprocess

from comparison.batch import Failed

NAME = "tutti-bench-"
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def missing():
    """The reason, in words, why hosts cannot be made here; empty if they can."""
    for program in ("ip", "tc"):
        if not shutil.which(program):
            return f"there is no program {program} (Debian: the package iproute2)"
    if os.geteuid() != 0:
        return "network namespaces are made by root: run this as root"
    name = f"{NAME}{os.getpid()}-try"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return (f"no network namespace can be made here ({' '.join(done.stderr.split())}): a container needs "
                "CAP_SYS_ADMIN and CAP_NET_ADMIN")
    done = subprocess.run(["ip", "-n", name, "link", "show"], capture_output=True, text=True, check=False)
    subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
    if done.returncode != 0:
        return (f"ip cannot work in a network namespace here ({' '.join(done.stderr.split())}): the root of the file "
                "system must be a mount point, which that of a chroot often is not")
    return ""


def congestion_control():
    """TCP's congestion control: cubic, or else reno, if a namespace may choose it, or else the system's. The first
    namespace decides what others may use, and is left as it is."""
    with open("/proc/sys/net/ipv4/tcp_allowed_congestion_control", encoding="utf-8") as f:
        allowed = f.read().split()
    with open("/proc/sys/net/ipv4/tcp_congestion_control", encoding="utf-8") as f:
        return next((c for c in ("cubic", "reno") if c in allowed), f.read().strip())


def left_over():
    """Namespaces of runs that died before they removed them."""
    names = os.listdir("/run/netns") if os.path.isdir("/run/netns") else []
    return [n for n in names if dead(n)]


def dead(name):
    found = re.match(f"{NAME}([0-9]+)-", name)
    return bool(found) and not os.path.isdir(f"/proc/{found.group(1)}")


class Hosts:
    """The hosts of a network, while this context lasts."""

    def __init__(self, network, congestion):
        self._network, self._congestion = network, congestion

    def __enter__(self):
        remove(left_over())
        try:
            for command in self._network.commands(self._congestion):
                run(command)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        remove(self._network.spaces)

    def counters(self):
        """Bytes that hosts have sent, and that have passed the trunk in its busier direction: as on the wire, but with
        one header for packets that the kernel carries as one."""
        links = json.loads(run(["ip", "-n", self._network.switch, "-s", "-j", "link", "show"]))
        return count(links)


def port_bytes(network):
    """Bytes that each host has sent."""
    return [sent for sent, _ in port_traffic(network)]


def port_traffic(network):
    """(bytes sent, bytes received) of each host."""
    links = json.loads(run(["ip", "-n", network.switch, "-s", "-j", "link", "show"]))
    of = {l["ifname"]: (l["stats64"]["rx"]["bytes"], l["stats64"]["tx"]["bytes"]) for l in links}
    return [of[f"port{h}"] for h in range(network.hosts)]


def count(links):
    """Traffic of the switch. links: the output of `ip -s -j link`."""
    sent = sum(l["stats64"]["rx"]["bytes"] for l in links if l["ifname"].startswith("port"))
    trunk = [l["stats64"]["tx"]["bytes"] for l in links if l["ifname"].startswith("trunk")]
    return sent, trunk


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {' '.join((done.stderr + done.stdout).split())}")
    return done.stdout


def remove(spaces):
    """Ends all processes in the namespaces, and deletes these. Another Ctrl-C waits until that is done."""
    known = set(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else set()
    before = {s: signal.signal(s, signal.SIG_IGN) for s in STOPS}
    try:
        for space in (s for s in spaces if s in known):
            pids = subprocess.run(["ip", "netns", "pids", space], capture_output=True, text=True, check=False).stdout
            for pid in pids.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
    finally:
        for s, handler in before.items():
            signal.signal(s, handler)
