# SPDX-License-Identifier: Apache-2.0
"""Lists the contenders on several hosts: the ranks that each command starts, and their places."""
import dataclasses
import os
import random

from comparison.programs import GLOO_PACKAGES, KIB, OPENMPI_PACKAGES, Program, Way, gloo_ways
from comparison.world import own_files

FIELD = "network"


@dataclasses.dataclass(frozen=True)
class Networked(Program):
    """A program whose ranks are placed on the hosts of a network."""

    starts: object = None  # (program, executable, network, placement, path) -> [(command, environment)]
    offers: object = None  # (op, size, ranks) -> ways
    needs: object = lambda placement: True  # true if it can run with this placement
    usual: bool = True  # measured by default

    def commands(self, folder, network, placement):
        executable = os.path.join(folder, self.executable)
        return lambda path: [(command + own_files(self, path), {**self.environment(), **variables})
                             for command, variables in self.starts(self, executable, network, placement, path)]

    def ways(self, op, size, ranks, inputs):
        return self.offers(op, size, ranks, inputs)


def on(network, host, *command):
    return ["ip", "netns", "exec", network.space(host), *command]


def each_rank(program, executable, network, placement, path):
    """tutti: a process per rank, which meet at rank 0's address."""
    meet = meeting_point(network, placement)
    return [(on(network, host, executable, "launched=yes", *program.options),
             {**meet, "TUTTI_RANK": str(rank), "TUTTI_SIZE": str(placement.ranks)})
            for rank, host in enumerate(placement.hosts)]


def each_host(program, executable, network, placement, path):
    """tutti: a process per host, whose threads are ranks."""
    meet = meeting_point(network, placement)
    return [(on(network, host, executable, "launched=yes", f"threads={placement.each}", *program.options),
             {**meet, "TUTTI_RANK": str(number), "TUTTI_SIZE": str(len(placement.order))})
            for number, host in enumerate(placement.order)]


def with_switch(program, executable, network, placement, path):
    """A process per rank, and a soft switch in the network, which ends with rank 0."""
    device = f"{network.DEVICE}:{random.randrange(12000, 29000)}"
    started = [(command, {**variables, "TUTTI_FPGA_NIC": device})
               for command, variables in each_rank(program, executable, network, placement, path)]
    command, variables = started[0]
    both = ["ip", "netns", "exec", network.switch, "sh", "-c", BESIDE, "sh", soft_switch(executable), device, str(network.loss),
            *command]
    return [(both, variables), *started[1:]]


# Runs the second of two programs, with the first beside it.
BESIDE = '"$1" --listen "$2" --loss "$3" & first=$!; shift 3; "$@"; code=$?; kill $first; exit $code'


def soft_switch(executable):
    return os.path.join(os.path.dirname(os.path.dirname(executable)), "tools", "soft_switch")


def meeting_point(network, placement):
    """Environment by which ranks meet. In a namespace of its own every port below the ephemeral ones is free, except
    for earlier worlds."""
    return {"TUTTI_JOB": "bench", "TUTTI_MASTER_ADDR": network.address(placement.hosts[0]), "TUTTI_INTERFACE": "eth0",
            "TUTTI_MASTER_PORT": str(random.randrange(12000, 29000))}


def gloo_rank(program, executable, network, placement, path):
    return [(on(network, host, executable, f"ranks={placement.ranks}", f"rank={rank}",
                f"address={network.address(host)}"), {}) for rank, host in enumerate(placement.hosts)]


def raw(program, executable, network, placement, path):
    """Runs threads of one process, whose sockets belong to the namespaces."""
    hosts = ",".join(f"{network.space(h)}@{network.address(h)}" for h in placement.hosts)
    return [([executable, f"ranks={placement.ranks}", f"hosts={hosts}", *program.options], {})]


def openmpi_run(program, executable, network, placement, path):
    agent = os.path.join(path, "agent")
    with open(agent, "w", encoding="utf-8") as f:
        f.write(AGENT.format(prefix=network.prefix))
    os.chmod(agent, 0o700)
    hosts = ",".join(f"{network.address(h)}:{placement.each}" for h in placement.order)
    command = [program.launcher_path(), "-n", str(placement.ranks), "--host", hosts,
               "--map-by", "slot" if placement.packed else "node"]
    for name, value in (("plm_rsh_agent", agent), ("plm_rsh_no_tree_spawn", "1"), ("btl_tcp_if_include", network.NET),
                        ("oob_tcp_if_include", network.NET), ("mpi_yield_when_idle", "1"), ("pml", "ob1"),
                        ("btl", "self,tcp" if placement.each == 1 else "self,vader,tcp")):
        command += ["--mca", name, value]
    return [([agent, network.address(placement.order[0]), *command, "--bind-to", "none", *program.options, executable],
             {})]


# The agent that Open MPI calls like ssh: with an address, and the words of a command for its shell. Open MPI names its
# shared memory after the host, so each host gets a name of its own.
AGENT = """#!/bin/sh
host={prefix}-h$((${{1##*.}} - 1)); shift
exec ip netns exec $host unshare --uts sh -c "hostname $host; $*"
"""


def flat_ways(op, size, ranks, inputs):
    if size <= 32 * KIB:
        return [Way(t) for t in ("doubling", "butterfly", "binary_tree", "star", "direct", "ring")]
    if op == "broadcast":
        return [Way(t, s) for t in ("chain", "double_tree", "binary_tree", "doubling") for s in segments(size)]
    return [Way(t, s) for t in ("ring", "butterfly") for s in segments(size)] + [Way("double_tree", 64 * KIB)]


def hierarchical_ways(op, size, ranks, inputs):
    if size <= 32 * KIB:
        return [Way(f"binary_tree+{t}") for t in ("doubling", "butterfly", "double_tree")]
    return [Way(f"binary_tree+{t}", s) for t in ("ring", "butterfly" if op == "allreduce" else "double_tree")
            for s in segments(size)]


def segments(size):
    """Segment sizes: whole vectors, and pieces, several of which are under way at a time."""
    return [s for s in (0, 256 * KIB, 1024 * KIB, 4096 * KIB) if s < size]


def gloo_ways_here(op, size, ranks, inputs):
    """Algorithms without polling if ranks outnumber the cores: they would starve each other, and might take minutes."""
    return gloo_ways(op, size, ranks, inputs, polls=ranks <= os.cpu_count())


def raw_ways(op, size, ranks, inputs):
    if op == "broadcast":
        return [Way("tree"), Way("chain")]
    return [Way("doubling")] * (ranks & (ranks - 1) == 0 and size <= 32 * KIB) + [Way("ring")] * (size >= 4 * ranks)


def _tutti(name, transport, starts, settings, offers=flat_ways, needs=lambda placement: True, usual=True):
    return Networked(name, "tutti", "ours", FIELD, "bench_tutti", "nothing but tutti", settings,
                     options=(f"transport={transport}",), starts=starts, offers=offers, needs=needs, usual=usual)


def _tutti_by(topology):
    def offers(op, size, ranks, inputs):
        return [Way(topology, s) for s in segments(size)]

    return _tutti(f"tutti:{topology}", "tcp", each_rank, f"TCP alone, {topology}", offers, usual=False)


def in_network_ways(op, size, ranks, inputs):
    return [Way("in_network", s) for s in segments(size)]


def multicast_ways(op, size, ranks, inputs):
    """Ways of a broadcast alone, since only it goes through the group."""
    return in_network_ways(op, size, ranks, inputs) if op == "broadcast" else []


class Switched(Networked):
    """A program whose ranks sum in the network."""

    def missing(self, folder):
        needed = soft_switch(os.path.join(folder, self.executable))
        return super().missing(folder) or ("" if os.access(needed, os.X_OK) else f"{needed} is not built")


def _openmpi(setting, settings, *options, ops=("allreduce", "broadcast"), needs=lambda placement: True):
    words = [w for name, value in options for w in ("--mca", name, value)]
    return Networked("openmpi", "openmpi", "peer", FIELD, "bench_openmpi", OPENMPI_PACKAGES, settings, "mpirun.openmpi",
                     tuple(words), variables=(("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")),
                     setting=setting, starts=openmpi_run, offers=lambda op, *_: [Way()] * (op in ops), needs=needs)


def _openmpi_by(op, setting, number, segment=0):
    """Open MPI with the algorithm of this number in its manual."""
    chosen = [("coll_tuned_use_dynamic_rules", "1"), (f"coll_tuned_{op[1]}_algorithm", str(number))]
    if segment:
        chosen.append((f"coll_tuned_{op[1]}_algorithm_segmentsize", str(segment)))
    return _openmpi(setting, ", ".join(" ".join(c) for c in chosen[1:]), *chosen, ops=op[:1])


ALLREDUCE, BROADCAST = ("allreduce", "allreduce"), ("broadcast", "bcast")  # our words and Open MPI's


def several(placement):
    return placement.each > 1


def several_packed(placement):
    return placement.each > 1 and placement.packed


IN_NETWORK = Switched("tutti:in_network", "tutti", "ours", FIELD, "bench_tutti", "nothing but tutti",
                      "a soft switch sums in the network, beside TCP", options=("transport=tcp+fpga_nic",),
                      starts=with_switch, offers=in_network_ways, usual=False)

PROGRAMS = [
    _tutti("tutti:tcp", "tcp", each_rank, "TCP alone, also within a host"),
    *map(_tutti_by, ("ring", "butterfly", "double_tree", "star", "chain", "binary_tree")),
    IN_NETWORK,
    _tutti("tutti:udp_multicast", "tcp+udp_multicast", each_rank, "a group of IP multicast beside TCP", multicast_ways,
           usual=False),
    _tutti("tutti:shared_memory+tcp", "shared_memory+tcp", each_rank, "by_locality, flat topologies", needs=several),
    _tutti("tutti:hierarchical", "shared_memory+tcp", each_rank, "by_locality, hierarchical topologies",
           hierarchical_ways, several),
    _tutti("tutti:hierarchical_threads", "loopback+tcp", each_host,
           "by_locality with threads as ranks, hierarchical topologies", hierarchical_ways, several_packed),
    _openmpi("default", "its own choice of algorithm; btl self,tcp, and vader with several ranks on a host"),
    _openmpi_by(ALLREDUCE, "ring", 4),
    _openmpi_by(ALLREDUCE, "segmented_ring", 5, 256 * KIB),
    _openmpi_by(ALLREDUCE, "rabenseifner", 6),
    _openmpi_by(BROADCAST, "pipeline", 3, 256 * KIB),
    _openmpi("han", "coll_han_priority 100", ("coll_han_priority", "100"), needs=several),
    Networked("gloo", "gloo", "peer", FIELD, "bench_gloo", GLOO_PACKAGES, "blocking or polling pairs",
              starts=gloo_rank, offers=gloo_ways_here),
    Networked("raw_sockets", "limit", "reference", FIELD, "bench_limit", "nothing but tutti",
              "the same bytes by hand, without a protocol", options=("transport=tcp",), starts=raw, offers=raw_ways,
              needs=lambda placement: placement.each == 1),
]

WIRE = Networked("wire", "limit", "limit", FIELD, "bench_limit", "nothing but tutti", "one raw socket",
                 options=("transport=tcp",), starts=raw)
