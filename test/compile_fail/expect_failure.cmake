# SPDX-License-Identifier: Apache-2.0
#
# cmake -DCOMPILER=... -DSOURCE=... -DINCLUDES=a:b -P expect_failure.cmake
cmake_minimum_required(VERSION 3.22)

file(STRINGS ${SOURCE} expected REGEX "^// error: " LIMIT_COUNT 1)
if(NOT expected)
  message(FATAL_ERROR "${SOURCE} does not say which message it expects: its first line is \"// error: <regex>\"")
endif()
string(REPLACE "// error: " "" expected "${expected}")

string(REPLACE ":" ";" includes "${INCLUDES}")
list(TRANSFORM includes PREPEND "-I")
if(COMPILER MATCHES "clang")
  file(STRINGS ${SOURCE} by_clang REGEX "^// error by clang: " LIMIT_COUNT 1)
  if(by_clang)
    string(REPLACE "// error by clang: " "" expected "${by_clang}")
  endif()
endif()
set(compile ${COMPILER} -std=c++20 -fsyntax-only ${includes})

execute_process(COMMAND ${compile} ${SOURCE} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(failed)
  message(FATAL_ERROR "Without its mistake the program must compile, or the test proves nothing:\n${said}")
endif()

execute_process(COMMAND ${compile} -DMISTAKE ${SOURCE} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
if(NOT failed)
  message(FATAL_ERROR "It compiles, but must fail with a message like \"${expected}\"")
endif()
if(NOT said MATCHES "${expected}")
  message(FATAL_ERROR "It fails, but no message matches \"${expected}\":\n${said}")
endif()
