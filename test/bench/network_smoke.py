# SPDX-License-Identifier: Apache-2.0
"""Makes the hosts of bench/netns, if this process may: python3 test/bench/network_smoke.py"""
import json
import os
import signal
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)

from network.hosts import NAME, Hosts, congestion_control, missing, remove, run  # noqa: E402
from network.plan import Network  # noqa: E402

MAY_NOT = missing()
BYTES = 1 << 20
SEND = "import socket, sys; socket.create_connection((sys.argv[1], 7000), 10).sendall(bytes(int(sys.argv[2])))"
RECEIVE = """import socket
listener = socket.create_server(("", 7000))
print("ready", flush=True)
line, n = listener.accept()[0], 0
while some := line.recv(65536):
    n += len(some)
print(n)"""

# Makes hosts, says so, and waits to be stopped.
HOLD = """import sys, time
sys.path.insert(0, sys.argv[1])
from network.hosts import Hosts
from network.plan import Network
with Hosts(Network(sys.argv[2], 2, 10**8), sys.argv[3]):
    print("made", flush=True)
    time.sleep(60)"""


def spaces(prefix):
    return [n for n in os.listdir("/run/netns") if n.startswith(prefix)]


@unittest.skipIf(MAY_NOT, MAY_NOT)
class Made(unittest.TestCase):
    def test_hosts_reach_each_other_through_shaped_links_and_are_gone_afterwards(self):
        network = Network(f"{NAME}{os.getpid()}", 4, 10**9, bridges=2, trunk=10**9)
        with Hosts(network, congestion_control()) as hosts:
            self.assertEqual(sorted(spaces(network.prefix)), sorted(network.spaces))
            for space, link in ((network.space(3), "eth0"), (network.switch, "port3"), (network.switch, "trunk1")):
                (shape,) = json.loads(run(["tc", "-n", space, "-j", "qdisc", "show", "dev", link]))
                self.assertEqual(shape["kind"], "tbf")
            sent, trunk = hosts.counters()
            with subprocess.Popen(["ip", "netns", "exec", network.space(3), sys.executable, "-c", RECEIVE],
                                  stdout=subprocess.PIPE, text=True) as receiver:
                self.assertEqual(receiver.stdout.readline(), "ready\n")
                run(["ip", "netns", "exec", network.space(0), sys.executable, "-c", SEND, network.address(3), str(BYTES)])
                self.assertEqual(receiver.stdout.readline(), f"{BYTES}\n")
            sent_now, trunk_now = hosts.counters()
            self.assertGreaterEqual(sent_now - sent, BYTES)
            self.assertGreaterEqual(max(b - a for a, b in zip(trunk, trunk_now)), BYTES)
        self.assertEqual(spaces(network.prefix), [])

    def test_they_are_gone_after_an_error(self):
        network = Network(f"{NAME}{os.getpid()}", 2, 10**8)
        with self.assertRaises(ZeroDivisionError):
            with Hosts(network, congestion_control()):
                1 / 0
        self.assertEqual(spaces(network.prefix), [])

    def hold(self, prefix):
        held = subprocess.Popen([sys.executable, "-c", HOLD, BENCH, prefix, congestion_control()],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.assertEqual(held.stdout.readline(), "made\n")
        return held

    def test_they_are_gone_after_an_interrupt(self):
        with self.hold(f"{NAME}{os.getpid()}-i") as held:
            held.send_signal(signal.SIGINT)
            held.wait(30)
        self.assertEqual(spaces(f"{NAME}{os.getpid()}-i"), [])

    def test_what_a_killed_run_left_over_the_next_one_takes_away(self):
        # Named for a process that is gone.
        with subprocess.Popen(["true"]) as gone:
            gone.wait()
        with self.hold(f"{NAME}{gone.pid}") as held:
            held.kill()
            held.wait()
        self.assertEqual(len(spaces(f"{NAME}{gone.pid}-")), 3)
        with Hosts(Network(f"{NAME}{os.getpid()}", 2, 10**8), congestion_control()):
            self.assertEqual(spaces(f"{NAME}{gone.pid}-"), [])

    def tearDown(self):
        remove(spaces(f"{NAME}{os.getpid()}-"))


if __name__ == "__main__":
    unittest.main()
