// SPDX-License-Identifier: Apache-2.0
//
// Four ranks sum 1 + 2 + 3 + 4, over every transport that this project was given.

#include <tutti/tutti.hpp>

#ifdef WITH_asio
#include <tutti/asio.hpp>
#endif
#ifdef WITH_cuda
#include <tutti/cuda/array.hpp>
static_assert(sizeof(tutti::cuda::array<float>) != 0);  // compiled only: few hosts have a GPU
#endif
#ifdef WITH_in_network
#include <tutti/in_network/fpga_nic.hpp>
#include <tutti/in_network/udp_multicast.hpp>
#endif
#ifdef WITH_nn
#include <tutti/nn/trainer.hpp>
#endif
#ifdef WITH_nn_images
#include <tutti/nn/base/dataset.hpp>
#include <tutti/nn/images/read_image.hpp>
#endif
#ifdef WITH_secure
#include <tutti/secure.hpp>
static_assert(tutti::transport<tutti::secure_tcp>);
#endif
#ifdef WITH_simulation
#include <tutti/simulation/simulate.hpp>
#endif
#ifdef WITH_tcp
#include <tutti/transport/tcp.hpp>
#endif
#ifdef WITH_verbs
#include <tutti/verbs/verbs.hpp>
static_assert(tutti::transport<tutti::verbs>);  // compiled only: few hosts have an RDMA device
#endif

#include <vector>

template <class Transport>
bool adds_up() {
  auto const results = tutti::spawn<Transport>(4, [](auto& world) {
    std::vector<float> values(3, static_cast<float>(world.rank() + 1));
    tutti::allreduce sum{world, tutti::ring{}, tutti::sum<float>{}};
    sum(values);
    return values.front() + values.back();
  });
  for (auto const& result : results) {
    if (result.value() != 20.0F) {
      return false;
    }
  }
  return true;
}

#ifdef WITH_nn_images
bool misses_a_picture() {
  try {
    return tutti::nn::read_image("no_such_picture", {1, 8, 8}).empty();
  } catch (tutti::nn::data_error const&) {
    return true;
  }
}
#endif

int main() {
  bool good = adds_up<tutti::loopback>() && adds_up<tutti::shared_memory>();
#ifdef WITH_tcp
  good = good && adds_up<tutti::tcp>();
#endif
#ifdef WITH_secure
  good = good && tutti::detail::make_secret("sixteen or more letters");
#endif
#ifdef WITH_nn_images
  good = good && misses_a_picture();
#endif
  return good ? 0 : 1;
}
