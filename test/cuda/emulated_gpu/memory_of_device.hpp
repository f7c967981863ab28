// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// The host address of these bytes of device or pinned memory. Ends the program if they are not such memory.
extern "C" std::byte* emulated_gpu_memory(void const* device_pointer, std::size_t bytes);
