# SPDX-License-Identifier: Apache-2.0
#
# A recipe for Conan 2: the components tutti, asio and tcp. (tutti::nn needs xtensor-blas; use CMake for it.)
import os
import re

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy, load
from conan.tools.layout import basic_layout

required_conan_version = ">=2.0"


class TuttiRecipe(ConanFile):
    name = "tutti"
    license = "Apache-2.0"
    description = "Collective communication for C++20: transport x topology x reduction"
    topics = ("collective-communication", "allreduce", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"with_boost": [True, False]}  # for asio
    default_options = {"with_boost": True}
    exports_sources = "include/*", "LICENSE"
    no_copy_source = True

    def set_version(self):
        text = load(self, os.path.join(self.recipe_folder, "include", "tutti", "version.hpp"))
        self.version = ".".join(re.findall(r"^#define TUTTI_VERSION_[A-Z]+ (\d+)$", text, re.MULTILINE))

    def layout(self):
        basic_layout(self)

    def requirements(self):
        if self.options.with_boost:
            self.requires("boost/[>=1.81 <2]", options={"header_only": True})

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        excludes = ["tutti/nn/*"] if self.options.with_boost else ["tutti/nn/*", "tutti/asio.hpp"]
        for sources in ("*.hpp", "*.ipp", "*.cpp"):
            copy(self, sources, os.path.join(self.source_folder, "include"),
                 os.path.join(self.package_folder, "include"), excludes=excludes)

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "tutti")
        needs = {"tutti": [], "tcp": ["tutti"]}
        if self.options.with_boost:
            needs["asio"] = ["tutti", "boost::headers"]
        for name, requires in needs.items():
            component = self.cpp_info.components[name]
            component.set_property("cmake_target_name", f"tutti::{name}")
            component.requires = requires
            component.bindirs = component.libdirs = []
            if name == "tutti" and self.settings.os == "Linux":
                component.system_libs = ["pthread"]
