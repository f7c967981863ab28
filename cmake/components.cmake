# SPDX-License-Identifier: Apache-2.0
#
# One INTERFACE target per component: `tutti` (no dependency but the platform) and one for each part
# that brings another project's library. Installing them needs none of those libraries; the alias
# tutti::<component> exists only where they were found.

include(GNUInstallDirs)
include(${CMAKE_CURRENT_LIST_DIR}/dependencies.cmake)

# Which headers belong to which component. What is not named here belongs to `tutti`.
set(tutti_headers_of_asio "^tutti/asio\\.hpp$")
set(tutti_headers_of_tcp "^tutti/transport/tcp[._]|^tutti/detail/(impl/)?tcp/")
set(tutti_headers_of_verbs "^tutti/transport/verbs[._]|^tutti/detail/verbs/")
set(tutti_headers_of_mpi "^tutti/mpi\\.hpp$")
set(tutti_headers_of_cuda "^tutti/(nn/)?(detail/)?cuda(/|[.]cu$)")
set(tutti_headers_of_nn "^tutti/nn/")

file(GLOB_RECURSE tutti_headers RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/include/tutti/*.hpp ${PROJECT_SOURCE_DIR}/include/tutti/*.ipp
     ${PROJECT_SOURCE_DIR}/include/tutti/*.cpp ${PROJECT_SOURCE_DIR}/include/tutti/*.cu)

set(tutti_left ${tutti_headers})
foreach(component IN ITEMS asio tcp verbs mpi cuda nn)
  set(tutti_headers_${component} ${tutti_left})
  list(FILTER tutti_headers_${component} INCLUDE REGEX "${tutti_headers_of_${component}}")
  list(FILTER tutti_left EXCLUDE REGEX "${tutti_headers_of_${component}}")
endforeach()
set(tutti_headers_tutti ${tutti_left})

# Before CMake 3.23 there are no file sets. Those of later ones are exported wrongly where headers go to an absolute path,
# as on NixOS.
set(tutti_uses_file_sets ON)
if(CMAKE_VERSION VERSION_LESS 3.23 OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(tutti_uses_file_sets OFF)
endif()

# Projects that have tutti as a folder get its headers as those of a system, without warnings: their flags are theirs.
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
    add_library(tutti::${component} ALIAS ${target})
    list(APPEND tutti_available ${component})
  endif()
endforeach()

# What a project demands of a folder, as it demands of a package by find_package(tutti COMPONENTS ...).
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
target_link_libraries(tutti_asio INTERFACE tutti Boost::headers)
target_link_libraries(tutti_tcp INTERFACE tutti)
target_link_libraries(tutti_verbs INTERFACE tutti ibverbs::ibverbs)
target_link_libraries(tutti_mpi INTERFACE tutti MPI::MPI_CXX)
target_link_libraries(tutti_cuda INTERFACE tutti CUDA::cudart)
target_compile_options(tutti_cuda INTERFACE $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>)
target_link_libraries(tutti_nn INTERFACE tutti xtensor xtensor-blas BLAS::BLAS ZLIB::ZLIB
                                         nlohmann_json::nlohmann_json oneDNN::oneDNN)
# xtensor-blas 0.21 reads its own configuration too late, and would multiply without the BLAS, 25 times slower.
target_compile_definitions(tutti_nn INTERFACE HAVE_CBLAS=1)

include(${CMAKE_CURRENT_LIST_DIR}/compiled.cmake)
tutti_add_compiled(${PROJECT_SOURCE_DIR}/include)
