# SPDX-License-Identifier: Apache-2.0
#
# The recipe in ConanCenter's form: from a release's archive, which conandata.yml names there, and with the targets of
# CMakeDeps, since packages there hold no configuration of their own. tutti::nn is not in it: ConanCenter has neither
# xtensor-blas nor oneDNN.
import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, get, save
from conan.tools.layout import basic_layout

required_conan_version = ">=2.2"

# Made of the package's sources where they are used; and a misspelt component is refused, which CMakeDeps does not do.
BUILD_MODULE = """\
include(${CMAKE_CURRENT_LIST_DIR}/compiled.cmake)
tutti_add_compiled(${CMAKE_CURRENT_LIST_DIR}/../../include)
foreach(component IN LISTS tutti_FIND_COMPONENTS)
  if(NOT TARGET tutti::${component})
    set(tutti_FOUND FALSE)
    set(tutti_NOT_FOUND_MESSAGE "tutti::${component}: there is no such component; there are tutti, c, tcp, simulation \
and in_network, and asio, secure and verbs with the options with_asio, with_secure and with_verbs")
  endif()
endforeach()
"""


class TuttiConan(ConanFile):
    name = "tutti"
    description = "Collective communication for C++20: transport x topology x reduction"
    license = "Apache-2.0"
    url = "https://github.com/conan-io/conan-center-index"
    topics = ("collective-communication", "allreduce", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_asio": [True, False], "with_secure": [True, False], "with_verbs": [True, False]}
    default_options = {"with_asio": False, "with_secure": False, "with_verbs": False}
    no_copy_source = True

    def layout(self):
        basic_layout(self, src_folder="src")

    def requirements(self):
        if self.options.with_asio:
            self.requires("boost/[>=1.81 <2]")
        if self.options.with_secure:
            self.requires("openssl/[>=3 <4]")
        if self.options.with_verbs:
            self.requires("rdma-core/[>=44]")

    def package_id(self):
        self.info.clear()

    def validate(self):
        if self.settings.os != "Linux":
            raise ConanInvalidConfiguration(f"{self.ref} runs on Linux; the os of this profile is {self.settings.os}")
        check_min_cppstd(self, 20)

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        include = os.path.join(self.source_folder, "include")
        for sources in ("*.hpp", "*.ipp", "*.cpp"):
            copy(self, sources, include, os.path.join(self.package_folder, "include"), excludes="tutti/nn/*")
        modules = os.path.join(self.package_folder, "lib", "cmake")
        copy(self, "compiled.cmake", os.path.join(self.source_folder, "cmake"), modules)
        save(self, os.path.join(modules, "conan-official-tutti-targets.cmake"), BUILD_MODULE)

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "tutti")
        module = os.path.join("lib", "cmake", "conan-official-tutti-targets.cmake")
        self.cpp_info.set_property("cmake_build_modules", [module])
        needs = {"tutti": []}
        for name in ("c_headers", "tcp", "simulation", "in_network"):
            needs[name] = ["tutti"]
        if self.options.with_asio:
            needs["asio"] = ["tutti", "boost::headers"]
        if self.options.with_secure:
            needs["secure"] = ["tutti", "openssl::ssl"]
        if self.options.with_verbs:
            needs["verbs"] = ["tutti", "rdma-core::libibverbs"]
        for name, requires in needs.items():
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", f"tutti::{name}")
            component.set_property("pkg_config_name", "tutti" if name == "tutti" else f"tutti-{name}".replace("_", "-"))
            component.requires = requires
            component.bindirs = component.libdirs = []
        self.cpp_info.components["tutti"].system_libs = ["pthread"]
