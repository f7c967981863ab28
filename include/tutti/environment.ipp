// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tutti/detail/bootstrap/environment_reader.hpp>
#include <tutti/environment.hpp>
#include <tutti/extend/member.hpp>

#include <unistd.h>

namespace tutti::inline v0_1_0 {

TUTTI_DECL environment read_environment() {
  return detail::read_environment(::environ, ::getppid(), host_name());
}

}  // namespace tutti
