// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>

/// Cold code is declared in its header, x.hpp, and defined in x.ipp beside it. By default the header includes that, and
/// the definitions are inline. Where TUTTI_SEPARATE_COMPILATION is defined, tutti/compiled.cpp has them, once: link
/// tutti::compiled.
///
/// Every unit of a header-only program compiles what it may need of that. So g++ optimises it no more than -O1 does,
/// and leaves out the dearest passes of that; this takes a ninth off the time of a first operator, makes no larger
/// code, and does not inline that in hot code. See bench/results/compile_time.md. TUTTI_COLD marks cold members of
/// templates, to the same end.
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define TUTTI_COLD \
  __attribute__((optimize("O1", "no-tree-pta", "no-ivopts", "no-tree-dominator-opts", "ira-region=one")))
#else
#define TUTTI_COLD
#endif
#ifdef TUTTI_SEPARATE_COMPILATION
#define TUTTI_DECL
#else
#define TUTTI_DECL TUTTI_COLD inline
#endif

/// The same of templates, for the arguments that are likely (detail/instances/): `TUTTI_COMPILED template class X<Y>;`
/// is a promise that tutti/compiled.cpp has them; and there, where the word is empty, what keeps it.
#define TUTTI_COMPILED extern

// All units of a program that are built from one version agree on the words below, which change definitions or layouts.
// For each word a unit has a variable that is named after the word and its value, and a second name for it, after the
// word alone. The variable is inline, so a linker keeps one definition of it, with all of its names: units that agree
// have one definition of the second name, others two, and do not link. The names are hidden, so shared libraries with
// words of their own live in one program. Code for devices has no such names.
#if defined(__ELF__) && !defined(__CUDA_ARCH__)
#define TUTTI_UNITS_AGREE(word, value)                                                                   \
  extern "C" {                                                                                           \
  [[gnu::used, gnu::visibility("hidden")]] inline char const tutti_v0_1_0_units_with_##word##_##value{}; \
  [[gnu::alias("tutti_v0_1_0_units_with_" #word "_" #value),                                             \
    gnu::visibility("hidden")]] extern char const tutti_v0_1_0_units_disagree_on_##word;                 \
  }
#ifdef TUTTI_SEPARATE_COMPILATION
TUTTI_UNITS_AGREE(TUTTI_SEPARATE_COMPILATION, defined)
#else
TUTTI_UNITS_AGREE(TUTTI_SEPARATE_COMPILATION, undefined)
#endif
#ifdef __GLIBCXX__  // these words change the layout of its classes; classes of libc++ have other names
#ifdef _GLIBCXX_DEBUG
TUTTI_UNITS_AGREE(GLIBCXX_DEBUG, defined)
#else
TUTTI_UNITS_AGREE(GLIBCXX_DEBUG, undefined)
#endif
#if _GLIBCXX_USE_CXX11_ABI
TUTTI_UNITS_AGREE(GLIBCXX_USE_CXX11_ABI, 1)
#else
TUTTI_UNITS_AGREE(GLIBCXX_USE_CXX11_ABI, 0)
#endif
#endif
#undef TUTTI_UNITS_AGREE
#endif
