# SPDX-License-Identifier: Apache-2.0
#
# One INTERFACE target per component: the core, `tutti` (no dependency but the platform), and one for each other
# component. Some depend on another project's library. Installing them needs none of those libraries; the alias
# tutti::<component> exists only if they were found.

include(GNUInstallDirs)
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)

# The folders and files of a component, below include/tutti. A component without an entry has the folder of its name;
# headers of no component belong to the core, `tutti`.
set(tutti_paths_of_asio asio.hpp)
set(tutti_paths_of_c c.h c)
set(tutti_paths_of_mpi mpi.hpp)
set(tutti_paths_of_nn_images nn/images)
set(tutti_paths_of_secure secure.hpp secure)
set(tutti_paths_of_tcp transport/tcp.hpp transport/tcp_options.hpp extend/tcp_options.hpp detail/tcp)

# Sets `result` to the headers at `path`, a folder or a file below include/tutti.
function(tutti_headers_at path result)
  set(at ${PROJECT_SOURCE_DIR}/include/tutti/${path})
  if(IS_DIRECTORY ${at})
    file(GLOB_RECURSE found RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS
         ${at}/*.hpp ${at}/*.ipp ${at}/*.cpp ${at}/*.cu ${at}/*.h ${at}/*.map)
  else()
    file(GLOB found RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS ${at})
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

tutti_headers_at("" tutti_headers_tutti)
foreach(component IN LISTS tutti_components)
  if(component STREQUAL "tutti")
    continue()
  endif()
  if(NOT DEFINED tutti_paths_of_${component})
    set(tutti_paths_of_${component} ${component})
  endif()
  set(tutti_headers_${component} "")
  foreach(path IN LISTS tutti_paths_of_${component})
    tutti_headers_at(${path} found)
    list(APPEND tutti_headers_${component} ${found})
  endforeach()
  if(tutti_headers_${component})
    list(REMOVE_ITEM tutti_headers_tutti ${tutti_headers_${component}})
  else()
    list(REMOVE_ITEM tutti_components ${component})  # its folder has been removed
  endif()
endforeach()

# A folder in another component's folder belongs to one of them only.
if(tutti_headers_nn AND tutti_headers_nn_images)
  list(REMOVE_ITEM tutti_headers_nn ${tutti_headers_nn_images})
endif()

# CMake has file sets since 3.23. It exports them wrongly if headers are installed to an absolute path, as on NixOS.
set(tutti_uses_file_sets ON)
if(CMAKE_VERSION VERSION_LESS 3.23 OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(tutti_uses_file_sets OFF)
endif()

# Projects that have tutti as a subfolder get its headers as system headers, without warnings, which their flags might
# cause.
set(tutti_system "")
if(NOT tutti_top_level)
  set(tutti_system SYSTEM)
endif()

set(tutti_available "")
foreach(component IN LISTS tutti_components)
  if(component STREQUAL "tutti")
    set(target tutti)
  else()
    set(target tutti_${component})
  endif()
  add_library(${target} INTERFACE)
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${component})
  if(component STREQUAL "c")
    set_target_properties(${target} PROPERTIES EXPORT_NAME c_headers)  # tutti::c is a library
  endif()
  target_include_directories(${target} ${tutti_system} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${target} INTERFACE cxx_std_20)
  if(tutti_uses_file_sets)
    list(TRANSFORM tutti_headers_${component} PREPEND ${PROJECT_SOURCE_DIR}/include/ OUTPUT_VARIABLE files)
    target_sources(${target} INTERFACE FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}/include FILES ${files})
  endif()

  tutti_find_dependencies(${component} missing)
  if(missing)
    message(STATUS "tutti::${component} is not available: ${missing}")
  else()
    get_target_property(name ${target} EXPORT_NAME)
    add_library(tutti::${name} ALIAS ${target})
    list(APPEND tutti_available ${component})
  endif()
endforeach()

# Components that a project requires of a subfolder, as find_package(tutti COMPONENTS ...) does of a package.
set(tutti_refused "")
foreach(component IN LISTS TUTTI_COMPONENTS)
  if(NOT component IN_LIST tutti_available)
    tutti_find_dependencies(${component} missing)
    string(APPEND tutti_refused "tutti::${component}: ${missing}. ")
  endif()
endforeach()
if(tutti_refused)
  message(FATAL_ERROR "${tutti_refused}")
endif()

target_link_libraries(tutti INTERFACE Threads::Threads)
set(tutti_libraries_of_asio Boost::headers)
set(tutti_libraries_of_secure OpenSSL::SSL)
set(tutti_libraries_of_verbs ibverbs::ibverbs)
set(tutti_libraries_of_mpi MPI::MPI_CXX)
set(tutti_libraries_of_cuda CUDA::cudart)
set(tutti_libraries_of_nn xtensor xtensor-blas BLAS::BLAS ZLIB::ZLIB nlohmann_json::nlohmann_json oneDNN::oneDNN)
set(tutti_libraries_of_nn_images tutti_nn PNG::PNG JPEG::JPEG)
foreach(component IN LISTS tutti_components)
  if(NOT component STREQUAL "tutti")
    target_link_libraries(tutti_${component} INTERFACE tutti ${tutti_libraries_of_${component}})
  endif()
endforeach()
if(TARGET tutti_cuda)
  target_compile_options(tutti_cuda INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
endif()
if(TARGET tutti_nn)
  # xtensor-blas 0.21 reads its own configuration too late, and would multiply without BLAS, 25 times slower.
  target_compile_definitions(tutti_nn INTERFACE HAVE_CBLAS=1)
endif()

include(${CMAKE_CURRENT_LIST_DIR}/compiled.cmake)
tutti_add_compiled(${PROJECT_SOURCE_DIR}/include)
