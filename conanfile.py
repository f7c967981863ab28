# SPDX-License-Identifier: Apache-2.0
#
# A recipe for Conan 2. The package is what CMake installs, all components of it, and projects find it by its own
# tutti-config.cmake: targets, versions and messages are those of find_package. An option adds what a component needs
# and changes nothing in the package, so there is one of it (tutti::mpi and tutti::cuda take the MPI and the CUDA of the
# site). It holds no binary: tutti::compiled is made of its sources where it is used.
import os
import re

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load

required_conan_version = ">=2.2"

# The requirements of each option. ConanCenter has neither xtensor-blas nor onednn: with_nn needs another remote.
REQUIREMENTS = {
    "with_asio": ["boost/[>=1.81 <2]"],
    "with_nn": [
        "xtensor/[>=0.24 <1]",
        "xtensor-blas/[>=0.20 <1]",
        "openblas/[>=0.3 <1]",
        "onednn/[>=2.6 <4]",
        "zlib/[>=1.2 <2]",
        "nlohmann_json/[>=3.10 <4]",
    ],
    "with_nn_images": ["libpng/[>=1.6 <2]", "libjpeg-turbo/[>=2.1 <4]"],
    "with_secure": ["openssl/[>=3 <4]"],
    "with_verbs": ["rdma-core/[>=44]"],
}


class TuttiRecipe(ConanFile):
    name = "tutti"
    license = "Apache-2.0"
    description = "Collective communication for C++20: transport x topology x reduction"
    topics = ("collective-communication", "allreduce", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {option: [True, False] for option in REQUIREMENTS}
    default_options = {option: False for option in REQUIREMENTS}
    exports_sources = "CMakeLists.txt", "LICENSE", "cmake/*", "include/*"
    no_copy_source = True
    test_package_folder = os.path.join("packaging", "conan", "test_package")

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include", "tutti", "version.hpp"))
        self.version = ".".join(re.findall(r"^#define TUTTI_VERSION_[A-Z]+ (\d+)$", text, re.MULTILINE))

    def layout(self):
        cmake_layout(self)

    def requirements(self):
        for option, references in REQUIREMENTS.items():
            if self.options.get_safe(option):
                for reference in references:
                    self.requires(reference)

    def package_id(self):
        self.info.clear()

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"tutti runs on Linux; the os of this profile is {self.settings.os}")
        check_min_cppstd(self, 20)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["TUTTI_BUILD_TESTS"] = False
        toolchain.cache_variables["TUTTI_BUILD_EXAMPLES"] = False
        toolchain.generate()

    def build(self):
        CMake(self).configure()

    def package(self):
        CMake(self).install()
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("share", "cmake", "tutti")]
        self.cpp_info.bindirs = self.cpp_info.libdirs = []
        self.cpp_info.system_libs = ["pthread"]
