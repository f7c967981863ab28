# SPDX-License-Identifier: Apache-2.0
#
# The protocols of shared memory under a weak memory model: docs/design/memory_order.md. The calls that the compiler
# places for -fsanitize=thread are linked with explorer.cpp instead of the sanitizer's library.

if(TUTTI_SANITIZE)
  return()
endif()
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_FLAGS -fsanitize=thread)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
check_cxx_source_compiles("#include <ucontext.h>
                           void f(ucontext_t* c, int& i) { makecontext(c, nullptr, i); }" tutti_explores_weak_memory)
unset(CMAKE_REQUIRED_FLAGS)
unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
if(NOT tutti_explores_weak_memory OR NOT CMAKE_ADDR2LINE)
  message(STATUS "The test weak_memory is left out: it needs -fsanitize=thread, makecontext and addr2line (binutils).")
  return()
endif()

add_executable(weak_memory ${CMAKE_CURRENT_SOURCE_DIR}/weak/main.cpp ${CMAKE_CURRENT_SOURCE_DIR}/weak/explorer.cpp
                           ${CMAKE_CURRENT_SOURCE_DIR}/weak/litmus.cpp ${CMAKE_CURRENT_SOURCE_DIR}/weak/protocols.cpp)
target_include_directories(weak_memory PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(weak_memory PRIVATE tutti_program)
target_compile_definitions(weak_memory PRIVATE TUTTI_ADDR2LINE="${CMAKE_ADDR2LINE}")
# Copies stay calls, so that the explorer sees them; everything else is inlined, as in a user's program. -g1 has the
# lines of what is inlined; addr2line of Debian 12 does not find all of them in version 5 of clang.
set_property(SOURCE weak/litmus.cpp weak/protocols.cpp PROPERTY COMPILE_OPTIONS
             -O2 -g1 -gdwarf-4 -U_FORTIFY_SOURCE -fsanitize=thread -fsized-deallocation
             -fno-builtin-memcpy -fno-builtin-memmove -fno-builtin-memset)
set_property(SOURCE weak/explorer.cpp PROPERTY COMPILE_OPTIONS -O3 -U_FORTIFY_SOURCE)
set(wrapped "")
foreach(name IN ITEMS memcpy memmove memset syscall sched_yield pthread_mutex_lock pthread_mutex_unlock)
  list(APPEND wrapped -Wl,--wrap=${name})
endforeach()
target_link_options(weak_memory PRIVATE -no-pie ${wrapped})
add_test(NAME weak_memory COMMAND weak_memory)
tutti_check_with_second_compiler(weak_memory)
tutti_test_needs(weak_memory weak_memory)
set_tests_properties(weak_memory PROPERTIES TIMEOUT ${timeout} LABELS weak COST 20)
