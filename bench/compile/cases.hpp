// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

/// A translation unit to compile, and the case with which its cost is compared.
struct compile_case {
  std::string name;
  std::string base;  ///< the name of the case whose cost is subtracted; empty: none
  std::string text;
};

/// The first C++ programs of a page of docs, in their order.
inline std::vector<std::string> programs_of(std::string const& page, std::size_t count) {
  std::ifstream file(page);
  std::vector<std::string> programs;
  std::string line;
  while (programs.size() != count && std::getline(file, line)) {
    if (line != "```cpp") {
      continue;
    }
    std::string text;
    while (std::getline(file, line) && line != "```") {
      text += line + '\n';
    }
    programs.push_back(text);
  }
  if (programs.size() != count) {
    throw std::runtime_error(page + " has fewer than " + std::to_string(count) + " programs");
  }
  return programs;
}

/// The measured programs: the first two of README.md, the umbrella header compared with the standard headers that any
/// such program has, and each operator compared with the umbrella header.
inline std::vector<compile_case> compile_cases(std::string const& readme) {
  std::string const standard = "#include <vector>\n#include <span>\n#include <atomic>\n#include <thread>\n";
  std::string const umbrella = standard + "#include <tutti/tutti.hpp>\n";
  std::vector<compile_case> cases = {
      {"nothing", "", ""},
      {"standard headers", "", standard},
      {"tutti/tutti.hpp", "standard headers", umbrella},
  };
  auto const programs = programs_of(readme, 2);
  cases.push_back({"README, the first program", "nothing", programs[0]});
  cases.push_back({"README, the second program", "nothing", programs[1]});

  auto const add_use = [&](std::string const& name, std::string const& transport, std::string const& body) {
    cases.push_back({name, "tutti/tutti.hpp",
                     umbrella + "namespace tutti {\nvoid use(communicator<" + transport +
                         ">& world, std::vector<float>& a, std::vector<float>& b) {\n" + body +
                         "\n(void)a, (void)b;\n}\n}\n"});
  };
  add_use("a function that uses nothing", "loopback", "(void)world;");
  for (std::string const topology : {"ring", "binary_tree", "butterfly", "doubling", "star", "direct", "chain"}) {
    add_use("allreduce, " + topology, "loopback", "allreduce x{world, " + topology + "{}, sum<float>{}}; x(a);");
  }
  std::string const ring = "allreduce x{world, ring{}, sum<float>{}}; ";
  add_use("allreduce, ring, shared_memory", "shared_memory", ring + "x(a);");
  add_use("allreduce, ring, also started", "loopback", ring + "x(a); x.start(b).wait();");
  add_use("allreduce, ring, also out of place", "loopback", ring + "x(a); x(a, b);");
  add_use("allreduce, ring, sum and max", "loopback", ring + "x(a); allreduce y{world, ring{}, max<float>{}}; y(a);");
  add_use("allreduce, ring and doubling", "loopback",
          ring + "x(a); allreduce y{world, doubling{}, sum<float>{}}; y(a);");
  // Five topologies, one chosen at run time: each compiled in, or all as plans.
  std::string compiled_in = "switch (b.size()) {\n";
  std::string plans = "auto const steps = [&] {\nswitch (b.size()) {\n";
  int choice = 0;
  for (std::string const topology : {"ring", "doubling", "butterfly", "binary_tree", "star"}) {
    std::string const label = choice == 4 ? "default" : "case " + std::to_string(choice);
    compiled_in += label + ": { allreduce x{world, " + topology + "{}, sum<float>{}}; x(a); break; }\n";
    plans += label + ": return plan<false>(" + topology + "{}, op::allreduce{}, world.size(), world.rank());\n";
    ++choice;
  }
  add_use("allreduce, one of five, compiled in", "loopback", compiled_in + "}");
  add_use("allreduce, one of five, planned", "loopback",
          plans + "}\n}();\nallreduce x{world, steps.view(), sum<float>{}}; x(a);");
  add_use("broadcast, binary_tree", "loopback", "broadcast x{world, binary_tree{}}; x(a, 0);");
  add_use("reduce, binary_tree", "loopback", "reduce x{world, binary_tree{}, sum<float>{}}; x(a, 0);");
  add_use("scan, doubling", "loopback", "scan x{world, doubling{}, sum<float>{}}; x(a, b);");
  add_use("reduce_scatter, ring", "loopback", "reduce_scatter x{world, ring{}, sum<float>{}}; x(a, b);");
  add_use("allgather, ring", "loopback", "allgather x{world, ring{}}; x(a);");
  add_use("gather, star", "loopback", "gather x{world, star{}}; x(a, b, 0);");
  add_use("scatter, star", "loopback", "scatter x{world, star{}}; x(a, b, 0);");
  add_use("alltoall, direct", "loopback", "alltoall x{world, direct{}}; x(a, b);");
  add_use("barrier, doubling", "loopback", "barrier x{world, doubling{}}; x();");
  add_use("send and recv", "loopback", "send x{world}; x(a, 1); recv y{world}; y(b, 1);");

  std::string program = umbrella + "#include <tutti/automatic.hpp>\n#include <tutti/transport/tcp.hpp>\n" +
                        "namespace tutti {\ntemplate <class T>\n" +
                        "void use(communicator<T>& world, std::vector<float>& a) {\nautomatic best{world};\n";
  for (std::string const topology : {"ring{}", "doubling{}", "butterfly{}", "binary_tree{}", "best"}) {
    program += "{ allreduce x{world, " + topology + ", sum<float>{}}; x(a); }\n";
  }
  program += "}\n";
  for (std::string const transport : {"loopback", "shared_memory", "tcp"}) {
    program += "template void use(communicator<" + transport + ">&, std::vector<float>&);\n";
  }
  cases.push_back({"3 transports, 4 topologies, automatic", "standard headers", program + "}\n"});
  return cases;
}
