# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel for `pip install .`: compiles the C library, and packs it with the Python files. Needs no network.

TUTTI_LIBRARY names a library to take instead. CXX and CXXFLAGS are the compiler, by default c++, and further flags.
"""
import base64
import hashlib
import os
import re
import shlex
import subprocess
import sysconfig
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
INCLUDE = os.path.join(os.path.dirname(HERE), "include")
NAME = "tutti_collectives"
FLAGS = "-std=c++20 -O2 -pthread -fPIC -shared -fvisibility=hidden".split()


def source(*path):
    """Returns the path of a file below tutti's include/."""
    found = os.path.join(INCLUDE, *path)
    if not os.path.exists(found):
        raise SystemExit(f"tutti: {found} is missing: install from python/ in tutti's source tree, "
                         "by pip 21.3 or newer")
    return found


def version():
    with open(source("tutti", "version.hpp"), encoding="utf-8") as file:
        return ".".join(re.findall(r"^#define TUTTI_VERSION_\w+ (\d+)", file.read(), re.MULTILINE))


def compile_library(to):
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    command = [*compiler, *FLAGS, *shlex.split(os.environ.get("CXXFLAGS", "")), "-I", INCLUDE,
               source("tutti", "c", "c.cpp"), "-Wl,--version-script=" + source("tutti", "c", "symbols.map"), "-o", to]
    print("tutti: compiling the C library, which takes a few minutes:", shlex.join(command), flush=True)
    try:
        ended = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace")
    except OSError as error:
        raise SystemExit(f"tutti: the C++ compiler {compiler[0]} cannot be run ({error.strerror}): install one "
                         "(Debian, Ubuntu: apt install g++), name it by CXX, or name a built libtutti_c.so by "
                         "TUTTI_LIBRARY")
    if ended.returncode != 0:
        errors = [line for line in ended.stderr.splitlines() if "error" in line][:5] or [ended.stderr[-2000:]]
        raise SystemExit("\n".join([f"tutti: {compiler[0]} failed with status {ended.returncode}. It has to know C++20 "
                                    "(g++ 12, clang++ 16 or newer):", *errors]))


def library():
    """Returns the bytes of libtutti_c.so."""
    named = os.environ.get("TUTTI_LIBRARY")
    with tempfile.TemporaryDirectory() as folder:
        path = named or os.path.join(folder, "libtutti_c.so")
        if not named:
            compile_library(path)
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError as error:
            raise SystemExit(f"tutti: TUTTI_LIBRARY names {path}, which cannot be read ({error.strerror})")


def python_files():
    package = [os.path.join(NAME, file) for file in os.listdir(os.path.join(HERE, NAME)) if file.endswith(".py")]
    return sorted([*package, "tutti_torch.py"])


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """Writes the wheel, and returns its name. pip calls it."""
    number = version()
    tag = "py3-none-" + re.sub(r"[-.]", "_", sysconfig.get_platform())
    info = f"{NAME}-{number}.dist-info"
    files = {}
    for path in python_files():
        with open(os.path.join(HERE, path), "rb") as file:
            files[path] = file.read()
    files[f"{NAME}/libtutti_c.so"] = library()
    files[f"{info}/METADATA"] = "\n".join([
        "Metadata-Version: 2.1", "Name: tutti-collectives", f"Version: {number}",
        "Summary: Collective communication of NumPy arrays and PyTorch tensors", "License: Apache-2.0",
        "Requires-Python: >=3.8", "Requires-Dist: numpy", ""]).encode()
    files[f"{info}/WHEEL"] = "\n".join([
        "Wheel-Version: 1.0", "Generator: tutti", "Root-Is-Purelib: false", f"Tag: {tag}", ""]).encode()
    digests = (base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
               for content in files.values())
    lines = [f"{path},sha256={digest},{len(files[path])}" for path, digest in zip(files, digests)]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""]).encode()
    wheel = f"{NAME}-{number}-{tag}.whl"
    with zipfile.ZipFile(os.path.join(wheel_directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return wheel
