# SPDX-License-Identifier: Apache-2.0
import os

from spack_repo.builtin.build_systems.cmake import CMakePackage

from spack.package import *


class Tutti(CMakePackage):
    """Collective communication for C++20, header-only: a transport, a topology and a reduction, chosen at compile
    time, compose into a specialised allreduce, broadcast and their kin. A variant adds what a component needs, and
    changes nothing in what is installed."""

    # The repository that this recipe lies in.
    git = "file://" + os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 5))

    license("Apache-2.0")

    version("main", branch="main")

    variant("asio", default=False, description="What tutti::asio needs: operations awaited with Boost.Asio")
    variant("cuda", default=False, description="What tutti::cuda, GPUs, needs")
    variant("mpi", default=False, description="What tutti::mpi needs: worlds that meet over MPI")
    variant("nn", default=False, description="What tutti::nn, the trainer, needs")
    variant("nn_images", default=False, when="+nn", description="What tutti::nn_images, pictures, needs")
    variant("secure", default=False, description="What tutti::secure, proofs of identity and encryption, needs")
    variant("verbs", default=False, description="What tutti::verbs, RDMA, needs")

    depends_on("cxx", type="build")
    depends_on("cmake@3.22:", type="build")
    depends_on("boost@1.81:", when="+asio")
    depends_on("cuda@13:", when="+cuda")
    depends_on("mpi", when="+mpi")
    with when("+nn"):
        depends_on("nlohmann-json")
        depends_on("onednn")
        depends_on("openblas")
        depends_on("xtensor")
        depends_on("xtensor-blas")
        depends_on("zlib-api")
    with when("+nn_images"):
        depends_on("libjpeg-turbo")
        depends_on("libpng")
    depends_on("openssl@3:", when="+secure")
    depends_on("rdma-core", when="+verbs")

    conflicts("%gcc@:11", msg="tutti needs C++20: g++ 12 or newer")
    conflicts("%clang@:15", msg="tutti needs C++20: clang 16 or newer")
    conflicts("platform=darwin", msg="tutti runs on Linux")
    conflicts("platform=windows", msg="tutti runs on Linux")

    def cmake_args(self):
        return [self.define("TUTTI_BUILD_TESTS", False), self.define("TUTTI_BUILD_EXAMPLES", False)]
