// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Cold code is declared in its header and defined in a file of the same name in detail/impl/. By default the header
/// includes that, and the definitions are inline. Where TUTTI_SEPARATE_COMPILATION is defined they are compiled apart.
#ifdef TUTTI_SEPARATE_COMPILATION
#define TUTTI_DECL
#else
#define TUTTI_DECL inline
#endif
