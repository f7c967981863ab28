# SPDX-License-Identifier: Apache-2.0
import os

from conan import ConanFile
from conan.tools.build import can_run
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout


class TuttiTest(ConanFile):
    settings = "os", "arch", "compiler", "build_type"
    generators = "CMakeDeps"

    def requirements(self):
        self.requires(self.tested_reference_str, options={"with_asio": True, "with_nn": True})

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.user_presets_path = False  # nothing is written beside the sources
        toolchain.generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure(variables={"COMPONENTS": "tcp;asio;nn"})
        cmake.build()

    def test(self):
        if can_run(self):
            for name in ["core", "tcp", "asio", "nn"]:
                self.run(os.path.join(self.cpp.build.bindir, f"uses_{name}"), env="conanrun")
