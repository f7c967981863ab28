// error: abstract type .*user_layer
// error by clang: is an abstract class
// SPDX-License-Identifier: Apache-2.0
//
// A layer that lacks a member is refused where one is made; the compiler lists the missing members after the error.

#include <tutti/nn/model.hpp>

struct user_layer : tutti::nn::layer<float> {
  [[nodiscard]] std::unique_ptr<layer> clone() const override { return std::make_unique<user_layer>(*this); }
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
  user_layer layer;
  tutti::nn::layer_list<float> layers{layer};
  tutti::nn::model<float> model(layers);
}
