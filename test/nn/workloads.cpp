// SPDX-License-Identifier: Apache-2.0
// test: plain
#include "../../bench/nn/strategies/workload.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <utility>

namespace {

std::map<std::string, bench::workload> by_name(std::size_t side) {
  std::map<std::string, bench::workload> workloads;
  for (auto& workload : bench::workloads(side)) {
    workloads.emplace(workload.name, std::move(workload));
  }
  return workloads;
}

}  // namespace

BOOST_AUTO_TEST_CASE(inception_v3_has_the_parameters_and_products_of_its_implementations) {
  auto const layers = bench::inception_v3();
  BOOST_TEST(layers.size() == 95U);  // 94 convolutions, each with its normalisation, and a dense layer
  BOOST_TEST(layers.front().numbers == 3U * 3 * 3 * 32 + 2 * 32);
  BOOST_TEST(layers.back().numbers == 2049U * 1000);
  auto const model = by_name(224).at("Inception-v3");
  BOOST_TEST(model.parameters() == 23'834'568U);
  BOOST_TEST(model.multiply_adds() == 5.71e9, boost::test_tools::tolerance(0.01));
}

BOOST_AUTO_TEST_CASE(models_have_the_products_that_are_published) {
  auto const workloads = by_name(224);
  BOOST_TEST(workloads.at("ResNet-200").parameters() == 64'673'832U);
  for (auto const& [name, thousand_million] : std::map<std::string, double>{
           {"AlexNet", 0.72}, {"VGG-16", 15.5}, {"VGG-19", 19.6}, {"ResNet-50", 4.1}, {"ResNet-152", 11.5}}) {
    BOOST_TEST(workloads.at(name).multiply_adds() == thousand_million * 1e9, boost::test_tools::tolerance(0.03));
  }
  BOOST_TEST(workloads.at("ResNet-200").images_per_second < workloads.at("ResNet-152").images_per_second);
}

BOOST_AUTO_TEST_CASE(small_images_have_small_models_and_are_trained_faster) {
  auto const small = by_name(32);
  BOOST_TEST(small.size() == 6U);
  BOOST_TEST(small.at("VGG-16").parameters() == 14'724'042U);
  for (auto const& [name, workload] : by_name(224)) {
    if (small.contains(name)) {
      BOOST_TEST(small.at(name).images_per_second > workload.images_per_second, name);
    }
  }
}
