# SPDX-License-Identifier: Apache-2.0
#
# Build type, warnings and sanitizers of this project's own tests, examples and benchmarks. A project that uses tutti
# gets none of this.

set(TUTTI_SANITIZE "" CACHE STRING "Sanitizers of the tests and examples: address,undefined or thread")
set_property(CACHE TUTTI_SANITIZE PROPERTY STRINGS "" "address,undefined" "thread")
option(TUTTI_WERROR "Treat warnings as errors" OFF)
set(TUTTI_SECOND_COMPILER "" CACHE FILEPATH "A clang++ that checks the syntax of all sources, too; empty: none")
set(TUTTI_SECOND_COMPILER_COMPILES "" CACHE STRING
    "Word of the tests that the second compiler compiles in another build, and need not read here: address, thread")

set(TUTTI_TURN "" CACHE STRING "The third of the checks that take turns to make: 0, 1 or 2; empty: all of them")
set_property(CACHE TUTTI_TURN PROPERTY STRINGS "" 0 1 2)
if(NOT TUTTI_TURN MATCHES "^[012]?$")
  message(FATAL_ERROR "TUTTI_TURN is \"${TUTTI_TURN}\". It has to be 0, 1, 2 or empty.")
endif()

get_property(tutti_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(tutti_top_level AND NOT tutti_multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(TUTTI_CCACHE ccache)
if(TUTTI_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache does not store objects built with a precompiled header unless it is told to.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${TUTTI_CCACHE})
endif()

set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(tutti_warning_flags -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow)
if(TUTTI_WERROR)
  list(APPEND tutti_warning_flags -Werror)
endif()

# Sets `result` to true if the check `name` is to be made. Checks that take turns show what other checks show, too, or
# change with few changes of the sources, and take long; sh test/run.sh --ci makes a third of them.
function(tutti_takes_turn name result)
  set(${result} ON PARENT_SCOPE)
  if(NOT TUTTI_TURN STREQUAL "")
    string(MD5 digest "${name}")
    string(SUBSTRING ${digest} 0 2 digits)
    math(EXPR turn "0x${digits} % 3")
    if(NOT turn EQUAL TUTTI_TURN)
      set(${result} OFF PARENT_SCOPE)
    endif()
  endif()
endfunction()

# The common base of every program of this project: all available components, warnings, sanitizers.
add_library(tutti_program INTERFACE)
target_compile_options(tutti_program INTERFACE ${tutti_warning_flags})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ needs most of its memory until a unit ends; garbage collection there takes a twentieth of its time.
  target_compile_options(tutti_program INTERFACE --param=ggc-min-heapsize=1048576)
endif()
include(CheckLinkerFlag)
foreach(linker IN ITEMS lld gold)  # gold is twice as fast as the usual one, lld five times
  check_linker_flag(CXX -fuse-ld=${linker} tutti_links_with_${linker})
  if(tutti_links_with_${linker})
    target_link_options(tutti_program INTERFACE -fuse-ld=${linker})
    break()
  endif()
endforeach()
foreach(component IN LISTS tutti_available)
  # Others bring libraries that start with a program, so they are linked only where they are used.
  if(NOT component MATCHES "^(c|nn|nn_images|mpi|cuda|secure)$")
    target_link_libraries(tutti_program INTERFACE tutti::${component})
  endif()
endforeach()

if(TUTTI_SANITIZE)
  target_compile_options(tutti_program INTERFACE -fsanitize=${TUTTI_SANITIZE} -fno-sanitize-recover=all
                                                 -fno-omit-frame-pointer)
  target_link_options(tutti_program INTERFACE -fsanitize=${TUTTI_SANITIZE})
  # Sanitizers do not detect a wrong index within an object; assertions of the standard library do.
  target_compile_definitions(tutti_program INTERFACE _GLIBCXX_ASSERTIONS)
  if(TUTTI_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(tutti_program INTERFACE -Wno-tsan)  # "atomic_thread_fence is not supported"
  endif()
endif()

foreach(library IN ITEMS tutti_compiled tutti_c_objects tutti_c_shared tutti_nn_compiled tutti_nn_images_compiled)
  if(TARGET ${library})
    target_link_libraries(${library} PRIVATE tutti_program)
  endif()
endforeach()

# Sets `result` to the flags by which a compiler reads the headers of `target`. Warnings in headers of other libraries
# are off.
function(tutti_flags_of_reading target result)
  set(folders "$<REMOVE_DUPLICATES:$<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>>")
  set(own "$<FILTER:${folders},INCLUDE,^(${PROJECT_SOURCE_DIR}|${PROJECT_BINARY_DIR})>")
  set(others "$<FILTER:${folders},EXCLUDE,^(${PROJECT_SOURCE_DIR}|${PROJECT_BINARY_DIR}|/usr/include$)>")
  set(definitions "$<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>")
  set(${result}
      -std=c++20
      "-I$<JOIN:${own},$<SEMICOLON>-I>" "$<$<BOOL:${others}>:-isystem$<JOIN:${others},$<SEMICOLON>-isystem>>"
      "$<$<BOOL:${definitions}>:-D$<JOIN:$<REMOVE_DUPLICATES:${definitions}>,$<SEMICOLON>-D>>" PARENT_SCOPE)
endfunction()

# tutti_read_sources(<target> <folder> <file that has to be there> <compiler and flags>...)
#
# Lets a compiler read the sources of `target`: syntax, warnings and instantiations, no code. Costs nothing if nothing
# has changed. Sources with the property tutti_one_compiler are left out: their code was read elsewhere. Sources take
# turns.
function(tutti_read_sources target folder needed)
  get_target_property(sources ${target} SOURCES)
  set(stamps "")
  list(FILTER sources EXCLUDE REGEX "\\$<")  # objects of others
  tutti_flags_of_reading(${target} reads)
  foreach(source IN LISTS sources)
    get_source_file_property(left_out ${source} tutti_one_compiler)
    if(left_out)
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(GET source STEM stem)
    set(stamp ${CMAKE_CURRENT_BINARY_DIR}/${folder}/${target}.${stem})
    tutti_takes_turn(${folder}/${target}.${stem} takes_turn)
    if(NOT takes_turn)
      continue()
    endif()
    add_custom_command(
      OUTPUT ${stamp}
      COMMAND ${ARGN} -fsyntax-only ${tutti_warning_flags} ${reads} -MMD -MF ${stamp}.d -MT ${stamp} ${source}
      COMMAND ${CMAKE_COMMAND} -E touch ${stamp}
      DEPENDS ${source} ${needed}
      DEPFILE ${stamp}.d
      COMMENT "Reading ${target} (${stem}, ${folder})"
      COMMAND_EXPAND_LISTS VERBATIM)
    list(APPEND stamps ${stamp})
  endforeach()
  add_custom_target(${folder}_${target} ALL DEPENDS ${stamps})
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${folder})
endfunction()

# Lets the second compiler read the sources of `target`; more arguments are flags. The property
# tutti_second_precompiled of `target` may name a file made by tutti_precompile_for_second_compiler().
function(tutti_check_with_second_compiler target)
  if(NOT TUTTI_SECOND_COMPILER)
    return()
  endif()
  get_target_property(precompiled ${target} tutti_second_precompiled)
  if(precompiled)
    tutti_read_sources(${target} second_compiler ${precompiled} ${TUTTI_SECOND_COMPILER} ${ARGN} -include-pch
                       ${precompiled})
  else()
    tutti_read_sources(${target} second_compiler "" ${TUTTI_SECOND_COMPILER} ${ARGN})
  endif()
endfunction()

# Lets the compiler of this build read the sources of `target`, for which it makes no code. `base` is the target whose
# precompiled headers `target` uses, or nothing.
function(tutti_check_with_first_compiler target base)
  string(TOUPPER "${CMAKE_BUILD_TYPE}" type)
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${type}}")
  list(APPEND flags $<TARGET_PROPERTY:${target},COMPILE_OPTIONS>)
  if(base AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND flags -Winvalid-pch -include ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${base}.dir/cmake_pch.hxx)
  endif()
  tutti_read_sources(${target} first_compiler "${base}" ${CMAKE_CXX_COMPILER} ${flags})
endfunction()

# Adds a program of these sources. `tutti_program_precompiled` may be a file made by
# tutti_precompile_for_second_compiler().
function(tutti_add_program name)
  add_executable(${name} ${ARGN})
  target_link_libraries(${name} PRIVATE tutti_program)
  set_target_properties(${name} PROPERTIES tutti_second_precompiled "${tutti_program_precompiled}")
  tutti_check_with_second_compiler(${name})
endfunction()

# Sets `result` to a file for these headers, precompiled by the second compiler with the flags of `target`; to nothing
# without that compiler.
function(tutti_precompile_for_second_compiler result target)
  set(${result} "" PARENT_SCOPE)
  if(NOT TUTTI_SECOND_COMPILER)
    return()
  endif()
  set(file ${CMAKE_CURRENT_BINARY_DIR}/second_compiler/${target}.hpp)
  list(TRANSFORM ARGN REPLACE "(.+)" "#include \\1\n" OUTPUT_VARIABLE lines)
  string(JOIN "" lines ${lines})
  file(CONFIGURE OUTPUT ${file} CONTENT "@lines@" @ONLY)
  tutti_flags_of_reading(${target} reads)
  add_custom_command(OUTPUT ${file}.pch
                     COMMAND ${TUTTI_SECOND_COMPILER} ${reads} -x c++-header ${file} -o ${file}.pch
                             -MD -MF ${file}.d -MT ${file}.pch
                     DEPENDS ${file}
                     DEPFILE ${file}.d
                     COMMENT "Precompiling headers of ${target} for the second compiler"
                     COMMAND_EXPAND_LISTS VERBATIM)
  set(${result} ${file}.pch PARENT_SCOPE)
endfunction()

# Records the targets that a test needs, if any, and the second compiler's targets for them.
function(tutti_test_needs test)
  set(targets ${ARGN})
  foreach(target IN LISTS ARGN)
    if(TARGET second_compiler_${target})
      list(APPEND targets second_compiler_${target})
    endif()
  endforeach()
  list(JOIN targets " " targets)
  set_property(GLOBAL APPEND PROPERTY tutti_noted_tests ${test})
  set_property(GLOBAL APPEND_STRING PROPERTY tutti_test_needs "${test} ${targets}\n")
endfunction()

# Writes <build folder>/test_needs for `test/run.sh --only`, which builds nothing else: a line for each test with its
# name and its targets.
function(tutti_write_test_needs)
  get_property(noted GLOBAL PROPERTY tutti_noted_tests)
  get_property(folders DIRECTORY PROPERTY SUBDIRECTORIES)
  foreach(folder IN LISTS folders)
    get_property(tests DIRECTORY ${folder} PROPERTY TESTS)
    list(REMOVE_ITEM tests ${noted})
    if(tests)
      message(FATAL_ERROR "Say by tutti_test_needs() which targets these tests need: ${tests}")
    endif()
  endforeach()
  get_property(needs GLOBAL PROPERTY tutti_test_needs)
  file(WRITE ${PROJECT_BINARY_DIR}/test_needs "${needs}")
endfunction()

find_program(TUTTI_CLANG_FORMAT NAMES clang-format-16 clang-format)
if(TUTTI_CLANG_FORMAT)
  add_custom_target(format COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/format.sh ${TUTTI_CLANG_FORMAT} -i VERBATIM)
endif()
