# SPDX-License-Identifier: Apache-2.0
#
# Every test/project/compile_fail/<name>.cpp must not compile, and the compiler must say why:
#
#   // error: <regular expression that the message must match>
#   // error by clang: <the same for clang, where it differs>
#   // mistake: <flags to compile with in place of -DMISTAKE>
#   ... correct program, but for a part of it: ...
#   #ifdef MISTAKE
#   ... the mistake ...
#   #endif
#
# A file that begins with "// errors: beside the lines" has several mistakes, each on a line that ends with
# "  // error: <regular expression>", which the first error that the line causes must match.
#
# It is compiled twice: without MISTAKE it must compile, with MISTAKE it must fail with that message, which must be in
# the first error, or in a line of the program text that the compiler shows beside it. The second compiler only reads it
# with MISTAKE, as the first error would be another if it refused the rest.

add_library(compile_fail_flags OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_SOURCE_DIR}/project/compile_fail/element.cpp)
target_link_libraries(compile_fail_flags PRIVATE tutti_program)
set(compile_fail_includes "$<JOIN:$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:compile_fail_flags,INCLUDE_DIRECTORIES>>,:>")

function(tutti_add_compile_fail name source compiler)
  tutti_takes_turn(${name} takes_turn)
  if(NOT takes_turn)
    return()
  endif()
  add_test(NAME ${name}
           COMMAND ${CMAKE_COMMAND} -DCOMPILER=${compiler} -DSOURCE=${source} "-DINCLUDES=${compile_fail_includes}"
                   ${ARGN}
                   -P ${CMAKE_CURRENT_SOURCE_DIR}/project/compile_fail/expect_failure.cmake)
  set_tests_properties(${name} PROPERTIES TIMEOUT 180 LABELS compile_fail)
  tutti_test_needs(${name})
endfunction()

file(GLOB compile_fail_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/project/compile_fail/*.cpp)
if(NOT TARGET tutti::nn)
  list(FILTER compile_fail_sources EXCLUDE REGEX "/nn_[a-z_]+\\.cpp$")
endif()
if(NOT EXISTS ${PROJECT_SOURCE_DIR}/include/tutti/cuda)
  list(FILTER compile_fail_sources EXCLUDE REGEX "/host_source\\.cpp$")
endif()
foreach(source IN LISTS compile_fail_sources)
  cmake_path(GET source STEM name)
  tutti_add_compile_fail(compile_fail_${name} ${source} ${CMAKE_CXX_COMPILER})
  if(TUTTI_SECOND_COMPILER)
    tutti_add_compile_fail(compile_fail_${name}_second_compiler ${source} ${TUTTI_SECOND_COMPILER}
                           -DONLY_MISTAKE=ON)
  endif()
endforeach()
