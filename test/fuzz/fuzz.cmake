# SPDX-License-Identifier: Apache-2.0
#
# The fuzz targets, each test/fuzz/<name>.cpp or test/<component>/fuzz/<name>.cpp with the inputs of corpus/<name>
# beside it, for libFuzzer: docs/design/fuzzing.md. Built with the address and undefined behaviour sanitizers of clang.

set(TUTTI_FUZZ_SECONDS 10 CACHE STRING "Seconds for which the tests run each fuzz target")
include(CheckCXXSourceCompiles)
if(TUTTI_SANITIZE MATCHES "address" AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(CMAKE_REQUIRED_FLAGS -fsanitize=fuzzer)
  check_cxx_source_compiles("extern \"C\" int LLVMFuzzerTestOneInput(unsigned char const*, unsigned long) { return 0; }"
                            tutti_has_libfuzzer)
  unset(CMAKE_REQUIRED_FLAGS)
endif()

# tutti_add_fuzz_target(<source> [<library>...]): adds the program fuzz_<name>, and a test that runs it. It uses the
# headers alone, so that all of the library tells libFuzzer what an input reaches.
function(tutti_add_fuzz_target source)
  cmake_path(GET source STEM name)
  cmake_path(GET source PARENT_PATH folder)
  add_executable(fuzz_${name} ${source})
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR}/test)
  target_link_libraries(fuzz_${name} PRIVATE tutti_program ${ARGN})
  target_compile_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
  set(found ${CMAKE_CURRENT_BINARY_DIR}/fuzz/${name})
  file(MAKE_DIRECTORY ${found})
  set(dictionary "")
  if(EXISTS ${folder}/${name}.dict)
    set(dictionary -dict=${folder}/${name}.dict)
  endif()
  # The first folder takes what is found. Every run begins with the same seed.
  add_test(NAME fuzz_${name} COMMAND fuzz_${name} -max_total_time=${TUTTI_FUZZ_SECONDS} -timeout=10 -rss_limit_mb=1024
                                     -seed=1 -print_funcs=0 -verbosity=0 ${dictionary} -artifact_prefix=${found}.
                                     ${found} ${folder}/corpus/${name})
  tutti_test_needs(fuzz_${name} fuzz_${name})
  set_tests_properties(fuzz_${name} PROPERTIES TIMEOUT 300 LABELS "fuzz;address" COST ${TUTTI_FUZZ_SECONDS}
                                               ENVIRONMENT "ASAN_OPTIONS=quarantine_size_mb=16;${environment}")
endfunction()

if(tutti_has_libfuzzer)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/*.cpp)
  if(TARGET tutti::in_network)
    file(GLOB more CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/in_network/fuzz/*.cpp)
    list(APPEND sources ${more})
  else()
    list(FILTER sources EXCLUDE REGEX "/environment\\.cpp$")  # it reads variables of the network, too
  endif()
  foreach(source IN LISTS sources)
    tutti_add_fuzz_target(${source})
  endforeach()
  if(TARGET tutti::nn)
    tutti_add_fuzz_target(${CMAKE_CURRENT_SOURCE_DIR}/nn/fuzz/files.cpp tutti::nn)
  endif()
elseif(TUTTI_SANITIZE MATCHES "address")
  message(STATUS "The fuzz targets are left out: they need clang and its libFuzzer (Debian: clang-16)")
endif()
