// SPDX-License-Identifier: Apache-2.0
#pragma once

// The version of tutti, for `#if`; CMake and the Conan recipe read it here. Before 1.0.0 a new minor version may break
// programs, and CHANGELOG.md says how.
//
// Every header opens `namespace tutti::inline v<version>`, so that two libraries in one program may contain different
// versions of tutti. The test odr_version_in_names refuses a header with the namespace of another version.
#define TUTTI_VERSION_MAJOR 0
#define TUTTI_VERSION_MINOR 1
#define TUTTI_VERSION_PATCH 0
