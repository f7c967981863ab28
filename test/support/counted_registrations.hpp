// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>
#include <infiniband/verbs.h>

#undef ibv_reg_mr

namespace tutti::support {

/// The number of memory registrations of this process.
inline int registrations = 0;

}  // namespace tutti::support

/// Replaces libibverbs' function, and counts its calls. Include in one file of a program only.
extern "C" ibv_mr* ibv_reg_mr(ibv_pd* domain, void* begin, std::size_t length, int access) {
  static auto* const next = reinterpret_cast<decltype(&ibv_reg_mr)>(::dlsym(RTLD_NEXT, "ibv_reg_mr"));
  ++tutti::support::registrations;
  return next(domain, begin, length, access);
}
