// error: abstract type .*own
// error by clang: is an abstract class
// SPDX-License-Identifier: Apache-2.0
//
// A layer that lacks a member is refused where one is made; the compiler lists the missing members after the error.

#include <tutti/nn/model.hpp>

struct own : tutti::nn::layer<float> {
  [[nodiscard]] std::unique_ptr<layer> clone() const override { return std::make_unique<own>(*this); }
  [[nodiscard]] std::size_t inputs() const override { return 1; }
  [[nodiscard]] std::size_t outputs() const override { return 1; }
  void forward(tutti::nn::batch_context<float> const&, tutti::nn::matrix_view<float const> const&,
               tutti::nn::matrix_view<float>) override {}
#ifndef MISTAKE
  void backward(tutti::nn::batch_context<float> const&, tutti::nn::matrix_view<float const> const&,
                tutti::nn::matrix_view<float> const&, tutti::nn::matrix_view<float>,
                tutti::nn::matrix_view<float>) override {}
#endif
};

int main() {
  own one;
  tutti::nn::layer_list<float> layers{one};
  tutti::nn::model<float> model(layers);
}
