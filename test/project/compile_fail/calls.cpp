// errors: beside the lines
// SPDX-License-Identifier: Apache-2.0
//
// Arguments that an operator does not take: each error gives the reason.

#include <tutti/device_span.hpp>
#include <tutti/tutti.hpp>

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

struct plane {
  int* data();
  int size();
  int stride();
};
struct point {
  int x, y;
};
struct alignas(32) wide {
  int x[8];
};

void use(tutti::communicator<tutti::loopback>& world, int* pointer, plane gaps, tutti::device_span<int> on_device) {
  std::vector<int> v(4);
  std::vector<int> const read_only(4);
  std::vector<double> doubles(4);
  std::vector<std::string> words(4);
  std::vector<wide> wide_values(4);
  std::vector<bool> bits(4);
  std::list<int> list(4);
  int number = 1;
  point object{};
  std::optional<int> maybe;
  tutti::any_element const type("int32");

  tutti::allreduce sum{world, tutti::ring{}, tutti::sum<int>{}};
  tutti::reduce_scatter share{world, tutti::ring{}, tutti::sum<int>{}};
  tutti::reduce total{world, tutti::binary_tree{}, tutti::sum<int>{}};
  tutti::scan running{world, tutti::chain{}, tutti::sum<int>{}};
  tutti::exscan offset{world, tutti::chain{}, tutti::sum<int>{}};
  tutti::broadcast tell{world, tutti::binary_tree{}};
  tutti::allgather join{world, tutti::ring{}};
  tutti::gather collect{world, tutti::binary_tree{}};
  tutti::scatter deal{world, tutti::binary_tree{}};
  tutti::alltoall swap{world, tutti::direct{}};
  tutti::barrier meet{world, tutti::doubling{}};
  tutti::send give{world};
  tutti::recv take{world};

  sum(v);
  sum(number);
  sum(std::span(pointer, 1));
  sum(read_only, v);
  sum(std::vector<int>{1}, v);
  sum.start(std::span(v).first(1)).wait();
  meet();
  meet.start().wait();
  tell(v, {0});
#ifdef MISTAKE
  sum({1, 2});                         // error: a list in braces is no buffer: make it a variable
  sum({1, 2}, v);                      // error: a list in braces
  sum(v, {1, 2});                      // error: a list in braces
  sum.start({1, 2.5});                 // error: a list in braces
  sum.start(v, {pointer, 4});          // error: a list in braces
  share({1});                          // error: a list in braces
  total({1, 2});                       // error: reduce takes \(data, root\)
  tell({}, 0);                         // error: a list in braces
  deal({pointer, 4}, v, 0);            // error: a list in braces
  give({object}, 1);                   // error: a list in braces
  meet({});                            // error: barrier takes no arguments
  sum(list);                           // error: not one after the other in memory
  sum(words);                          // error: not trivially copyable, such as std::string
  sum(wide_values);                    // error: aligned to more than 16 bytes
  sum(bits);                           // error: elements of std::vector<bool> are bits
  sum(read_only);                      // error: this buffer is written, so it must not be const
  sum(v, read_only);                   // error: this buffer is written
  sum(doubles);                        // error: of another type than those of the reduction
  sum(std::vector<int>{1, 2});         // error: the result would be lost with this temporary
  sum(v, std::vector<int>(4));         // error: the result would be lost
  sum(1);                              // error: the result would be lost
  sum(pointer);                        // error: a pointer does not say how many
  sum(pointer, 4);                     // error: a pointer does not say how many
  sum(v.begin(), v.end());             // error: an iterator does not say how many .* std::span\(first, last\)
  tell(v.begin(), 0);                  // error: an iterator does not say how many
  sum(list.begin());                   // error: an iterator does not say how many
  sum(maybe);                          // error: this is no buffer
  sum(v, 0L);                          // error: the result would be lost
  sum(v, point{});                     // error: the result would be lost
  sum.start(v, 0L);                    // error: after the call, when the temporary is gone
  sum(0L, v);                          // error: of another type than those of the reduction
  meet(v);                             // error: barrier takes no arguments
  meet.start(v, 0);                    // error: barrier takes no arguments
  sum(gaps);                           // error: whether there are gaps .* give std::span\(x\.data\(\), count\)
  sum(on_device);                      // error: memory of a device: call enqueue
  sum(object);                         // error: of another type than those of the reduction
  sum(std::make_unique<int[]>(4));     // error: this is no buffer
  sum(v, v, 0);                        // error: allreduce takes \(data\) or \(input, output\)
  sum.start(list);                     // error: not one after the other in memory
  sum.start(std::vector<int>(3));      // error: after the call, when the temporary is gone
  sum.start(std::vector<int>(3), v);   // error: after the call, when the temporary is gone
  sum.start(read_only);                // error: this buffer is written
  share(list);                         // error: not one after the other in memory
  share(std::vector<int>(3));          // error: the result would be lost
  total(v);                            // error: reduce takes \(data, root\) .* is the root missing
  total(v, v);                         // error: the root, a rank, is missing
  total(words, 0);                     // error: not trivially copyable
  tell(v);                             // error: broadcast takes \(data, root\); is the root missing
  tell(list, 0);                       // error: not one after the other in memory
  tell(read_only, 0);                  // error: this buffer is written
  tell(object, 0);                     // error: one object of a class is no buffer .* std::span\(&object, 1\)
  tell.start(v);                       // error: broadcast takes \(data, root\)
  tell(pointer, type, 4, 0);           // error: pointers, a count or a tutti::partition, and a tutti::any_element
  join(list);                          // error: not one after the other in memory
  join(doubles, v);                    // error: input and output must have elements of one type
  join(v, v, 4);                       // error: the last argument is a tutti::partition
  collect(v, v);                       // error: gather takes \(input, output, root\)
  collect(v, read_only, 0);            // error: this buffer is written
  collect(bits, v, 0);                 // error: elements of std::vector<bool> are bits
  deal(v, v);                          // error: scatter takes \(input, output, root\)
  deal(v, doubles, 0);                 // error: input and output must have elements of one type
  swap(v, std::vector<int>(4));        // error: the result would be lost
  swap(v);                             // error: alltoall takes \(input, output\)
  swap(v, v, 1, 3);                    // error: the last argument is a tutti::partition
  running(v, v, 0);                    // error: scan takes \(data\) or \(input, output\)
  offset();                            // error: exscan takes \(data\) or \(input, output\)
  give(v);                             // error: send takes \(data, rank\)
  give(words, 1);                      // error: not trivially copyable
  give.start(std::vector<int>(1), 1);  // error: after the call, when the temporary is gone
  give(v, v);                          // error: the other one's rank is missing
  take(v);                             // error: recv takes \(data, rank\)
  take(read_only, 1);                  // error: this buffer is written
  tutti::split(world);                 // error: split takes \(world, colour\)
#endif
}

int main() {}
