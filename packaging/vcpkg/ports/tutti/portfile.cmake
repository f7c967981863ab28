# SPDX-License-Identifier: Apache-2.0
#
# An overlay port: it installs the repository that it lies in. A feature adds what a component needs, and changes
# nothing in what is installed.

set(VCPKG_BUILD_TYPE release)  # nothing is compiled
set(VCPKG_FIXUP_ELF_RPATH OFF)
set(VCPKG_POLICY_SKIP_PKGCONFIG_CHECK enabled)  # -pthread is the same on all architectures
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." REALPATH)

vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DTUTTI_BUILD_TESTS=OFF -DTUTTI_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/tutti)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc" "${CURRENT_PACKAGES_DIR}/share/cmake")
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
