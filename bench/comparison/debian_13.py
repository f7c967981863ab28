# SPDX-License-Identifier: Apache-2.0
"""Provides programs of Debian 13 on a host of any version: builds and runs them in a chroot, which is made once.

Each program mounts in a mount namespace of its own, so mounts end with it, however it ends, and the host never sees
them. The contents of the folder stay.
"""
import dataclasses
import os
import shutil
import signal
import subprocess

from comparison.batch import Failed
from comparison.programs import PROGRAMS, Program, openmpi_peers

SUITE = "trixie"
MIRROR = "http://deb.debian.org/debian"
TOOLS = ("cmake", "ninja-build", "g++", "pkg-config")
PACKAGES = ("openmpi-bin", "libopenmpi-dev", "mpich", "libmpich-dev", "libgloo-dev")
TARGETS = ("bench_openmpi", "bench_mpich", "bench_gloo")
FINISHED = "etc/tutti-debian-13"  # exists in a complete chroot
SOURCE, BUILD = "/tutti", "/tutti-build"  # in the chroot
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8"}

# Words by which a shell enters the chroot: $1 is its folder, $2 the source. The shell becomes the program that it
# starts there, which thus keeps its process number.
ENTER = (
    'root=$1; source=$2; shift 2; '
    'for folder in dev proc sys; do mount --rbind "/$folder" "$root/$folder"; done; '
    'mount -t tmpfs tmpfs "$root/tmp"; '
    f'mount --bind "$source" "$root{SOURCE}"; mount -o remount,bind,ro "$root{SOURCE}"; '
    'cd /; exec chroot "$root" "$@"')
UNSHARE = ("unshare", "--mount", "--propagation", "private")


def missing():
    """The reason, in words, why a chroot cannot be made or entered here; empty if it can."""
    if os.geteuid() != 0:
        return "a chroot is made and entered by root: run this as root"
    for program, package in (("debootstrap", "debootstrap"), ("unshare", "util-linux"), ("mount", "mount"),
                             ("chroot", "coreutils")):
        if not shutil.which(program):
            return f"there is no program {program} (Debian: the package {package})"
    done = subprocess.run([*UNSHARE, "true"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return (f"no mount namespace can be made here ({' '.join(done.stderr.split())}): a container needs "
                "CAP_SYS_ADMIN")
    return ""


def inside(folder, source, words):
    """The command that runs these words in the chroot."""
    return [*UNSHARE, "sh", "-ec", ENTER, "sh", folder, source, *words]


def prepare(folder, source, tell, packages=PACKAGES, targets=TARGETS):
    """Makes the chroot unless it exists, installs what is missing, and builds the targets in it. Calls tell(text) before
    long work.

    Raises Failed, with the reason.
    """
    why = missing()
    if why:
        raise Failed(why)
    if not os.path.exists(os.path.join(folder, FINISHED)):
        make(folder, source, tell)
    install(folder, source, tell, [*TOOLS, *packages])
    tell(f"building {', '.join(targets)} in {folder}")
    run("the programs are not built", inside(folder, source, [
        "cmake", "-S", SOURCE, "-B", BUILD, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DTUTTI_BUILD_BENCHMARKS=ON",
        "-DTUTTI_BUILD_TESTS=OFF", "-DTUTTI_BUILD_EXAMPLES=OFF"]))
    run("the programs are not built", inside(folder, source, ["cmake", "--build", BUILD, "--target", *targets]))


def make(folder, source, tell):
    if os.path.isdir(folder) and os.listdir(folder):
        raise Failed(f"{folder} is neither empty nor a finished chroot of this program: name another folder, or remove "
                     "it if an earlier run was stopped while it made the chroot")
    tell(f"making a chroot of Debian 13 in {folder}: minutes")
    os.makedirs(folder, exist_ok=True)
    run("debootstrap failed", [*UNSHARE, "debootstrap", "--variant=minbase", "--force-check-gpg", SUITE, folder,
                               MIRROR])
    os.mkdir(folder + SOURCE)
    with open(os.path.join(folder, FINISHED), "w", encoding="utf-8"):
        pass


def install(folder, source, tell, packages):
    """Installs the packages that are missing. debootstrap cannot: it does not order the configuration of packages that
    wait for triggers."""
    query = ["dpkg-query", "--show", "--showformat=${db:Status-Status} ", *packages]
    probe = subprocess.run(inside(folder, source, query), env=ENVIRONMENT, capture_output=True, text=True, check=False)
    if probe.returncode == 0 and set(probe.stdout.split()) == {"installed"}:
        return
    tell(f"installing {len(packages)} packages in {folder}: up to 3 GB")
    run("apt-get failed", inside(folder, source, ["apt-get", "update"]))
    run("apt-get failed", inside(folder, source, [
        "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "--yes", "--no-install-recommends", *packages]))


def run(what, command):
    """Runs a command to its end, and shows its output only if it fails. An interruption of this program ends it."""
    proxies = {n: v for n, v in os.environ.items() if n.lower() in ("http_proxy", "https_proxy", "no_proxy")}
    with subprocess.Popen(command, env={**ENVIRONMENT, **proxies}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, start_new_session=True) as process:
        try:
            said = process.communicate()[0]
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode != 0:
        raise Failed(f"{what}: {' '.join(said.split())[-1000:]}")


@dataclasses.dataclass(frozen=True)
class Peer(Program):
    """A peer that runs in the chroot."""

    root: str = ""
    source: str = ""

    def missing(self, folder):
        return ""  # prepare() has built it

    def command(self, folder, ranks, cores):
        return inside(self.root, self.source, super().command(f"{BUILD}/bench", ranks, cores))

    def launcher_path(self):
        return f"/usr/bin/{self.launcher}"

    def environment(self):
        return {**ENVIRONMENT, **dict(self.variables)}


def contenders(folder, source):
    """All contenders, with the peers of the chroot."""
    others = [p for p in PROGRAMS if p.implementation != "openmpi"]
    ours = openmpi_peers("sm", ("smsc", "^cma"), ("--map-by", ":OVERSUBSCRIBE"))
    return [_in_chroot(p, folder, source) if p.role == "peer" else p for p in [*others, *ours]]


def _in_chroot(p, folder, source):
    words = {f.name: getattr(p, f.name) for f in dataclasses.fields(p)}
    return Peer(**{**words, "settings": f"Debian 13; {p.settings}"}, root=folder, source=source)
