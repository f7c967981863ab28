# SPDX-License-Identifier: Apache-2.0
#
# Programs in C over the interface for C.

if(NOT TARGET tutti::c)
  message(STATUS "The tests of c are left out: tutti::c is not available (see above).")
  return()
endif()
if(CMAKE_CXX_COMPILER MATCHES "clang\\+\\+")  # sanitizers of two compilers do not mix
  string(REPLACE "clang++" "clang" CMAKE_C_COMPILER "${CMAKE_CXX_COMPILER}")
endif()
enable_language(C)

# tutti_add_c_test(<name> <program> <sanitizers> <arguments>...)
function(tutti_add_c_test name program sanitizers)
  tutti_takes_turn(${name} takes_turn)
  if(TUTTI_SANITIZE AND NOT takes_turn)
    return()
  endif()
  add_test(NAME ${name} COMMAND ${program} ${ARGN})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${timeout} ENVIRONMENT "${environment}" LABELS "c;${sanitizers}"
                                          COST 100)
  tutti_test_needs(${name} ${program})
endfunction()

foreach(program IN ITEMS operations mistakes)
  add_executable(c_${program} ${CMAKE_CURRENT_SOURCE_DIR}/c/${program}.c ${CMAKE_CURRENT_SOURCE_DIR}/c/ranks.c)
  target_link_libraries(c_${program} PRIVATE tutti_program)
  target_compile_options(c_${program} PRIVATE -pedantic-errors)
  set_target_properties(c_${program} PROPERTIES C_STANDARD 99 C_EXTENSIONS OFF LINKER_LANGUAGE CXX)
endforeach()
target_link_libraries(c_operations PRIVATE tutti::c)
target_link_libraries(c_mistakes PRIVATE tutti::c_static)

tutti_add_c_test(c_operations c_operations "address")
tutti_add_c_test(c_operations_background c_operations "address;thread" background)
tutti_add_c_test(c_mistakes c_mistakes "address;thread")

add_test(NAME c_symbols COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/c/symbols.sh $<TARGET_FILE:tutti_c_shared>
                                ${PROJECT_SOURCE_DIR}/include/tutti/c.h)
set_tests_properties(c_symbols PROPERTIES TIMEOUT 60 LABELS "c;packaging")
tutti_test_needs(c_symbols tutti_c_shared)

add_test(NAME c_page COMMAND sh ${CMAKE_CURRENT_SOURCE_DIR}/c/page.sh ${PROJECT_SOURCE_DIR}
                             ${CMAKE_CURRENT_BINARY_DIR}/c_page $<TARGET_FILE:tutti_c_shared> ${CMAKE_C_COMPILER})
set_tests_properties(c_page PROPERTIES TIMEOUT 60 LABELS "c;packaging")
tutti_test_needs(c_page tutti_c_shared)
