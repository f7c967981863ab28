# SPDX-License-Identifier: Apache-2.0
"""Lists the contenders: their commands, settings and algorithms."""
import dataclasses
import os
import shutil

KIB = 1024


@dataclasses.dataclass(frozen=True)
class Way:
    """An algorithm that a contender offers for an operation; the empty one lets it choose."""

    algorithm: str = ""
    segment: int = 0

    def __str__(self):
        return self.algorithm + (f"/{self.segment // KIB}K" if self.segment else "")


@dataclasses.dataclass(frozen=True)
class Program:
    name: str  # programs of one name are one contender with several settings; the best is measured
    implementation: str
    role: str  # ours, before (ours of an earlier commit), peer, limit
    field: str  # memory: any means on one host; tcp: TCP alone
    executable: str
    packages: str  # Debian packages to build and run it
    settings: str  # in words, for the report
    launcher: str = ""
    options: tuple = ()
    crowded_options: tuple = ()  # with more ranks than cores
    variables: tuple = ()
    setting: str = ""  # tells programs of one name apart

    def missing(self, folder):
        """The reason, in words, why it cannot be started; empty if it can."""
        if not os.access(os.path.join(folder, self.executable), os.X_OK):
            return f"{os.path.join(folder, self.executable)} is not built; it needs {self.packages}"
        if self.launcher and not self.launcher_path():
            return f"there is no {self.launcher}; it needs {self.packages}"
        return ""

    def launcher_path(self):
        return shutil.which(self.launcher) or shutil.which(self.launcher.split(".")[0])

    def command(self, folder, ranks, cores):
        executable = os.path.join(folder, self.executable)
        if not self.launcher:
            return [executable, f"ranks={ranks}", *self.options]
        crowded = self.crowded_options if ranks > cores else ()
        return [self.launcher_path(), "-n", str(ranks), *self.options, *crowded, executable]

    def environment(self):
        return {**os.environ, **dict(self.variables)}

    def ways(self, op, size, ranks, inputs):
        return WAYS[self.implementation](self, op, size, ranks, inputs)


# Topologies of tutti for operations on blocks of any lengths, and for scans.
TOPOLOGIES = {
    **dict.fromkeys(("allgatherv", "allgatherv_90"), ("ring", "doubling", "butterfly", "star", "direct")),
    **dict.fromkeys(("reduce_scatterv", "reduce_scatterv_90"), ("ring", "butterfly", "star", "direct")),
    "alltoallv": ("direct",),
    **dict.fromkeys(("scan", "exscan"), ("chain", "doubling")),
}
OPERATIONS = ("allreduce", "broadcast", *TOPOLOGIES, "halo")


def tutti_ways(program, op, size, ranks, inputs):
    if "tutti:automatic" in program.name:
        return [Way("automatic")] if op != "halo" else []
    if op == "halo":
        return [Way()]
    if op in TOPOLOGIES:
        whole = [Way(t) for t in TOPOLOGIES[op]]
        if op not in ("scan", "exscan") or size < 128 * KIB:
            return whole  # the lengths of blocks set the segments
        return whole + [Way(t, s) for t in TOPOLOGIES[op] for s in (64 * KIB, 512 * KIB) if s < size]
    topologies = ["ring", "chain", "binary_tree", "doubling", "star", "direct"]
    if op == "allreduce" or ranks > 2:
        topologies.append("butterfly")
    if ranks > 2:
        topologies.append("double_tree")
    whole = [Way(t) for t in topologies]
    if size < 128 * KIB:
        return whole
    # Segments serve topologies that forward, and copies that several ranks read, which should be in the cache for the
    # last.
    cut = [Way(t, s) for t in ("ring", "chain", "binary_tree", "double_tree", "butterfly", "direct", "doubling", "star")
           for s in (64 * KIB, 512 * KIB) if s < size and t in topologies]
    return whole + cut


def limit_ways(program, op, size, ranks, inputs):
    if op not in ("allreduce", "broadcast"):
        return []
    if program.field == "tcp":
        names = ["direct", "doubling", "ring"] if op == "allreduce" else ["direct", "tree", "chain"]
        if ranks & (ranks - 1) and "doubling" in names:
            names.remove("doubling")
        if size < 4 * ranks and "ring" in names:
            names.remove("ring")
        return [Way(n) for n in names]
    ways = [Way("blocks")]
    ways.append(Way("push" if op == "allreduce" else "stream"))
    if size <= 128 * KIB:
        ways.append(Way("slots"))
    if size <= 56:
        ways.append(Way("line"))
    return ways


def gloo_ways(op, size, ranks, inputs, polls=True):
    if op not in ("allreduce", "broadcast"):
        return []
    if op == "broadcast":
        return [Way(n) for n in ["tree", "one_to_all"] + ["one_to_all_polling"] * polls]
    in_place = inputs == "rewritten"
    older = ["halving_doubling", "ring_chunked"]
    polling = [n + "_polling" for n in older] * polls
    return [Way(n) for n in ["ring", "bcube"] + (older + polling if in_place else [])]


WAYS = {
    "tutti": tutti_ways,
    "limit": limit_ways,
    "gloo": lambda program, *what: gloo_ways(*what, polls=not program.name.startswith("gloo:default")),
    "openmpi": lambda *_: [Way()],
    "mpich": lambda *_: [Way()],
}

OPENMPI_PACKAGES = "the packages openmpi-bin libopenmpi-dev pkg-config"
MPICH_PACKAGES = "the packages mpich libmpich-dev pkg-config"
GLOO_PACKAGES = "the package libgloo-dev"


def _tutti(transport, field, name="", settings="defaults", *options):
    return Program(f"tutti:{name or transport}", "tutti", "ours", field, "bench_tutti", "nothing but tutti", settings,
                   options=(f"transport={transport}", *options))


def openmpi_peers(shared_memory, no_single_copy, crowded):
    """Open MPI, whose words differ by version: its transport through memory, the parameter and value by which that
    copies twice, and the permission for more ranks than cores."""
    root = (("OMPI_ALLOW_RUN_AS_ROOT", "1"), ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"))

    def peer(name, field, setting, settings, *parameters):
        options = (word for pair in (("pml", "ob1"), *parameters) for word in ("--mca", *pair))
        return Program(name, "openmpi", "peer", field, "bench_openmpi", OPENMPI_PACKAGES, settings, "mpirun.openmpi",
                       ("--bind-to", "none", *options), (*crowded, "--mca", "mpi_yield_when_idle", "1"),
                       root if os.geteuid() == 0 else (), setting)

    memory = ("btl", f"self,{shared_memory}")
    return [
        peer("openmpi", "memory", "cma", f"btl self,{shared_memory}, single copy by CMA (the default)", memory),
        peer("openmpi", "memory", "copy", f"the same with {' '.join(no_single_copy)}", memory, no_single_copy),
        peer("openmpi", "memory", "coll_sm", "the same as cma with coll_sm_priority 100", memory,
             ("coll_sm_priority", "100")),
        peer("openmpi:tcp", "tcp", "", "btl self,tcp on the interface lo", ("btl", "self,tcp"),
             ("btl_tcp_if_include", "lo")),
    ]


def _mpich(name, field, setting, settings, **variables):
    return Program(name, "mpich", "peer", field, "bench_mpich", MPICH_PACKAGES, settings, "mpirun.mpich",
                   ("-bind-to", "none"), variables=tuple(variables.items()), setting=setting)


def _gloo(field, name="", pairs="blocking or polling pairs"):
    return Program(f"gloo:{name or field}", "gloo", "peer", field, "bench_gloo", GLOO_PACKAGES,
                   f"TCP on the loopback interface; {pairs}")


def as_before(ours, folder):
    """The program as it was built in another folder, from an earlier commit."""
    return dataclasses.replace(ours, name=f"before:{ours.name}", role="before",
                               executable=os.path.join(os.path.abspath(folder), ours.executable))


PROGRAMS = [
    _tutti("shared_memory", "memory"),
    _tutti("shared_memory", "memory", "segment", "shared_memory with buffers by tutti::allocator", "buffers=own"),
    _tutti("loopback", "memory"),
    _tutti("shared_memory", "memory", "automatic", "shared_memory; tutti::automatic picks the schedule"),
    *openmpi_peers("vader", ("btl_vader_single_copy_mechanism", "none"), ("--oversubscribe",)),
    _mpich("mpich", "memory", "posix", "POSIX shared memory (the default)"),
    _mpich("mpich", "memory", "ucx", "MPIR_CVAR_NOLOCAL=1, UCX_TLS=posix,sysv,cma,self",
           MPIR_CVAR_NOLOCAL="1", UCX_TLS="posix,sysv,cma,self"),
    _gloo("memory"),
    Program("limit:memory", "limit", "limit", "memory", "bench_limit", "nothing but tutti", "threads, by pointer",
            options=("transport=memory",)),
    _tutti("tcp", "tcp"),
    _tutti("tcp", "tcp", "automatic:tcp", "tutti::automatic picks the schedule"),
    _mpich("mpich:tcp", "tcp", "", "MPIR_CVAR_NOLOCAL=1, UCX_TLS=tcp,self on the interface lo",
           MPIR_CVAR_NOLOCAL="1", UCX_TLS="tcp,self", UCX_NET_DEVICES="lo"),
    _gloo("tcp"),
    _gloo("tcp", "default:tcp", "pairs as they are by default, blocking"),
    Program("limit:tcp", "limit", "limit", "tcp", "bench_limit", "nothing but tutti", "sockets without a protocol",
            options=("transport=tcp",)),
]
