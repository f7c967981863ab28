// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/base/language.hpp>

#include <cstddef>

/// Cold code is declared in x.hpp and defined in x.ipp beside it. By default the header includes that, and the
/// definitions are inline. With TUTTI_SEPARATE_COMPILATION only tutti/compiled.cpp has them: link tutti::compiled.
///
/// Every unit of a header-only program compiles the cold code that it may need, so g++ optimises it no more than -O1
/// does, without the slowest passes (docs/design/compilers.md: Cold code at -O1). TUTTI_COLD does so for cold members
/// of templates.
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

/// Declares an instance of a template for likely arguments (detail/instances/): `TUTTI_COMPILED template class X<Y>;`
/// promises that tutti/compiled.cpp contains it. There, the macro is empty, which defines the instance.
#define TUTTI_COMPILED extern

// Checks at link time that all units of a program agree on macros that change definitions or layouts. For each macro a
// unit has an inline variable, named after the macro and its value, and an alias of it, named after the macro. A linker
// keeps one definition of the variable with its aliases: units that agree define the alias once, others twice, and do
// not link. The names are hidden, so shared libraries with other settings can be in one program. Device code has no
// such names.
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
#ifdef __GLIBCXX__  // macros that change its layouts; classes of libc++ have other names
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
