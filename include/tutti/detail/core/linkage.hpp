// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/core/language.hpp>

/// Cold code is declared in its header and defined in a file of the same name in detail/impl/. By default the header
/// includes that, and the definitions are inline. Where TUTTI_SEPARATE_COMPILATION is defined, tutti/compiled.cpp has
/// them, once: link tutti::compiled.
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

// All units of a program that are built from one version agree on that. One that is header-only has a symbol, which is
// one for all of these: the linker keeps the first of a group, and the assembler of -flto the first of all. Any other
// unit asks for tutti/compiled.cpp, which has the same symbol outside of any group: the two do not link. (With -flto
// clang takes a symbol in a group for one in none: its units have no symbol.)
#ifdef TUTTI_SEPARATE_COMPILATION
namespace tutti::inline v0_1_0::detail {
extern char const compiled_apart;
[[gnu::used]] static char const* const needs_compiled_apart = &compiled_apart;
}  // namespace tutti::detail
#elif defined(__ELF__) && !defined(__clang__)
asm(".ifndef tutti_v0_1_0_units_disagree_on_TUTTI_SEPARATE_COMPILATION\n"
    ".pushsection .rodata.tutti, \"aG\", %progbits, tutti_v0_1_0_units_disagree_on_TUTTI_SEPARATE_COMPILATION, comdat\n"
    ".globl tutti_v0_1_0_units_disagree_on_TUTTI_SEPARATE_COMPILATION\n"
    "tutti_v0_1_0_units_disagree_on_TUTTI_SEPARATE_COMPILATION: .byte 0\n"
    ".popsection\n"
    ".endif");
#endif
