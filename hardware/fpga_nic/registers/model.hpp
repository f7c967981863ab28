// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../model/nic_model.hpp"
#include "registers.hpp"

/// The registers of a model, over its AXI-Lite.
class model_registers {
 public:
  struct place {
    nic_model& model;
  };

  void open(place const& target) noexcept { model_ = &target.model; }
  [[nodiscard]] std::uint32_t read(std::uint32_t address) { return model_->read(address); }
  void write(std::uint32_t address, std::uint32_t value) { model_->write(address, value); }
  void close() noexcept { model_ = nullptr; }

 private:
  nic_model* model_ = nullptr;
};
static_assert(registers<model_registers>);
