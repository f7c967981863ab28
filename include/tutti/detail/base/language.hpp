// SPDX-License-Identifier: Apache-2.0
#pragma once

// Every header without other includes of tutti includes this one, so a compiler sees it before any C++20.
#if __cplusplus < 202002L
#error "tutti needs C++20: compile with -std=c++20 (CMake: target_compile_features(<your target> PRIVATE cxx_std_20))"
#include <compile with -std=c++20>  // there is no such file, which ends the compilation here
#endif

// These flags remove checks for NaN and change the order of additions: results would be wrong.
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) || \
    defined(__ASSOCIATIVE_MATH__) || defined(__NO_SIGNED_ZEROS__)
#error "tutti needs IEEE 754: compile this unit without -ffast-math, -Ofast or their parts, or with -fno-fast-math last"
#include <compile without -ffast-math>  // there is no such file, which ends the compilation here
#endif
