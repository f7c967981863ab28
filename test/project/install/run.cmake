# SPDX-License-Identifier: Apache-2.0
#
# One test of install.cmake: builds the consumer in FOLDER in the given WAY.
cmake_minimum_required(VERSION 3.22)

file(REMOVE_RECURSE ${FOLDER})
set(prefix ${FOLDER}/prefix)
set(consumer ${CMAKE_CURRENT_LIST_DIR}/consumer)

function(run expected)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(expected STREQUAL "")
    if(NOT status EQUAL 0)
      list(JOIN ARGN " " command)
      message(FATAL_ERROR "${command} failed (${status}):\n${said}")
    endif()
  else()
    string(REGEX REPLACE "[ \n]+" " " said "${said}")  # CMake breaks its lines
    if(status EQUAL 0 OR NOT said MATCHES "${expected}")
      message(FATAL_ERROR "expected a failure that says \"${expected}\", but heard (${status}): ${said}")
    endif()
  endif()
endfunction()

set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${LAUNCHER}")  # a list: as an argument it would fall apart
set(configure ${CMAKE_COMMAND} -S ${consumer} -B ${FOLDER}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
              -DTUTTI_SOURCE=${TUTTI_SOURCE} -DCMAKE_PREFIX_PATH=${prefix})

# Configures the consumer with these options, builds it, and runs it.
function(use)
  run("" ${configure} ${ARGN})
  run("" ${CMAKE_COMMAND} --build ${FOLDER}/build)
  run("" ${FOLDER}/build/consumer)
  if(EXISTS ${FOLDER}/build/consumer_in_c)
    run("" ${FOLDER}/build/consumer_in_c)
  endif()
endfunction()

if(NOT WAY STREQUAL "find_package")
  list(REMOVE_ITEM AVAILABLE c)  # a library that takes long to compile
endif()
string(REPLACE ";" "\\;" components "${AVAILABLE}")
if(WAY MATCHES "find_package|no_such_component|missing_library|no_language")
  run("" ${CMAKE_COMMAND} --install ${TUTTI_BINARY} --prefix ${prefix})
endif()
# A package and a subfolder give the same message.
if(WAY STREQUAL "no_such_component")
  foreach(way IN ITEMS find_package add_subdirectory)
    run("tutti::warp: there is no such component; there are tutti, c, asio, tcp, secure, simulation, verbs, in_network, mpi, cuda, nn" ${configure} -DWAY=${way}
        -DCOMPONENTS=warp)
  endforeach()
elseif(WAY STREQUAL "missing_library")
  foreach(way IN ITEMS find_package add_subdirectory)
    run("asio: it needs Boost 1.81 or newer .Debian: libboost1.81-dev, Fedora: boost-devel, Arch: boost, macOS, Homebrew: "
        ${configure} -DWAY=${way} -DCOMPONENTS=asio -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
  endforeach()
  # A component that needs no library does not search for one.
  use(-DWAY=find_package -DCOMPONENTS=tcp -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON -DCMAKE_DISABLE_FIND_PACKAGE_BLAS=ON)
elseif(WAY STREQUAL "no_language")
  run("C.. is not enabled here: call project.<name> LANGUAGES CXX." ${configure} -DWAY=find_package -DLANGUAGE=C)
elseif(WAY STREQUAL "absolute_paths")  # Nix and Guix install so; CMake refuses such a path below the sources
  file(COPY ${TUTTI_SOURCE}/CMakeLists.txt ${TUTTI_SOURCE}/LICENSE ${TUTTI_SOURCE}/cmake ${TUTTI_SOURCE}/include
       DESTINATION ${FOLDER}/source)
  run("" ${CMAKE_COMMAND} -S ${FOLDER}/source -B ${FOLDER}/tutti -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${COMPILER}
      -DTUTTI_BUILD_TESTS=OFF -DTUTTI_BUILD_EXAMPLES=OFF -DCMAKE_INSTALL_PREFIX=${FOLDER}/out
      -DCMAKE_INSTALL_INCLUDEDIR=${FOLDER}/dev/include -DCMAKE_INSTALL_DATADIR=${prefix}/share)
  run("CMAKE_INSTALL_INCLUDEDIR=.* is absolute, .* configure with the other prefix"
      ${CMAKE_COMMAND} --install ${FOLDER}/tutti --prefix ${FOLDER}/elsewhere)
  run("" ${CMAKE_COMMAND} --install ${FOLDER}/tutti)
  run("" ${configure} -DWAY=find_package -DCOMPONENTS=tcp)
  run("" ${CMAKE_COMMAND} --build ${FOLDER}/build --target reaches)
  run("" ${FOLDER}/build/reaches)
elseif(WAY MATCHES "^without_(.*)$")
  set(removed ${CMAKE_MATCH_1})
  file(COPY ${TUTTI_SOURCE}/CMakeLists.txt ${TUTTI_SOURCE}/LICENSE ${TUTTI_SOURCE}/cmake ${TUTTI_SOURCE}/include
       DESTINATION ${FOLDER}/source)
  file(REMOVE_RECURSE ${FOLDER}/source/include/tutti/${removed} ${FOLDER}/source/include/tutti/${removed}.hpp
       ${FOLDER}/source/include/tutti/${removed}.h)
  if(removed STREQUAL "cuda")  # the trainer on GPUs stands on it
    file(REMOVE_RECURSE ${FOLDER}/source/include/tutti/nn/cuda)
  endif()
  if(removed STREQUAL "nn")
    list(REMOVE_ITEM AVAILABLE nn_images)  # it is a folder in it
  endif()
  list(REMOVE_ITEM AVAILABLE ${removed})
  string(REPLACE ";" "\\;" components "${AVAILABLE}")
  use(-DWAY=add_subdirectory -DTUTTI_SOURCE=${FOLDER}/source -DCOMPONENTS=${components})
elseif(WAY STREQUAL "exported")
  run("" ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/exporter -B ${FOLDER}/exporter -G ${GENERATOR}
      -DCMAKE_CXX_COMPILER=${COMPILER} -DTUTTI_SOURCE=${TUTTI_SOURCE} -DCMAKE_INSTALL_PREFIX=${prefix})
  run("" ${CMAKE_COMMAND} --install ${FOLDER}/exporter)
  if(EXISTS ${prefix}/include/tutti)
    message(FATAL_ERROR "A project that has tutti as a folder installs tutti without being asked to")
  endif()
  run("" ${CMAKE_COMMAND} --install ${FOLDER}/exporter --component tutti)
  use(-DWAY=exported)
else()
  use(-DWAY=${WAY} -DCOMPONENTS=${components})
endif()
