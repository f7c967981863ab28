# SPDX-License-Identifier: Apache-2.0
#
# Installs the headers, a package for find_package(tutti COMPONENTS ...), and one for pkg-config. Each component has an
# export of its own, so that using one does not need the libraries of the others. Without TUTTI_INSTALL the rules
# exist, too, so that an enclosing project may install(EXPORT) targets that link tutti::tutti.

include(CMakePackageConfigHelpers)
set(tutti_package_dir ${CMAKE_INSTALL_DATADIR}/cmake/tutti)
set(tutti_install COMPONENT tutti)
if(NOT TUTTI_INSTALL)
  list(APPEND tutti_install EXCLUDE_FROM_ALL)
endif()

# Installed packages find the headers relative to themselves. That fails for an absolute folder if the prefix changes
# after configuration.
foreach(folder IN ITEMS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_DATADIR)
  if(IS_ABSOLUTE "${${folder}}")
    set(complaint "${folder}=${${folder}} is absolute, and so was configured for the prefix ${CMAKE_INSTALL_PREFIX}: ")
    string(APPEND complaint "configure with the other prefix (-DCMAKE_INSTALL_PREFIX=), or with a relative folder")
    install(CODE "if(NOT CMAKE_INSTALL_PREFIX STREQUAL \"${CMAKE_INSTALL_PREFIX}\")
  message(FATAL_ERROR \"${complaint}\")
endif()" ${tutti_install})
  endif()
endforeach()

foreach(component IN LISTS tutti_components)
  if(component STREQUAL "tutti")
    set(target tutti)
  else()
    set(target tutti_${component})
  endif()
  if(tutti_uses_file_sets)
    install(TARGETS ${target} EXPORT tutti-${component}
            FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${tutti_install})
  else()
    install(TARGETS ${target} EXPORT tutti-${component})
  endif()
  install(EXPORT tutti-${component} NAMESPACE tutti:: DESTINATION ${tutti_package_dir} ${tutti_install})
endforeach()
if(NOT tutti_uses_file_sets)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/tutti DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${tutti_install})
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tutti-config.cmake.in
                              ${PROJECT_BINARY_DIR}/tutti-config.cmake INSTALL_DESTINATION ${tutti_package_dir}
                              PATH_VARS CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/tutti-config-version.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${PROJECT_BINARY_DIR}/tutti-config.cmake ${PROJECT_BINARY_DIR}/tutti-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/dependencies.cmake ${PROJECT_SOURCE_DIR}/cmake/compiled.cmake
        DESTINATION ${tutti_package_dir} ${tutti_install})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} ${tutti_install})

include(${CMAKE_CURRENT_LIST_DIR}/pkg_config.cmake)
