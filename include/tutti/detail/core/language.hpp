// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every header that includes no other one of tutti includes this one, so a compiler sees it before anything of C++20.
#if __cplusplus < 202002L
#error "tutti needs C++20: compile with -std=c++20 (CMake: target_compile_features(<your target> PRIVATE cxx_std_20))"
#include <compile with -std=c++20>  // there is no such file, which ends the compilation here
#endif
