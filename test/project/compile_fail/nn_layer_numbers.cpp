// error: this is no layer of these numbers: give one that derives from tutti::nn::layer<T>
// SPDX-License-Identifier: Apache-2.0
//
// A list of layers of floats takes no layer of doubles, which does not derive from nn::layer<float>.

#include <tutti/nn/extend/layer_list.hpp>
#include <tutti/nn/layer/dense.hpp>

int main() {
  tutti::nn::layer_list<float> layers;
#ifdef MISTAKE
  layers.push_back(tutti::nn::dense<double>(1, 1));
#else
  layers.push_back(tutti::nn::dense<float>(1, 1));
#endif
}
