// errors: beside the lines
// SPDX-License-Identifier: Apache-2.0
//
// If a reduction does not work on a type, the error names an alternative.

#include <tutti/reduction/reproducible_sum.hpp>
#include <tutti/reduction/saturating_sum.hpp>
#include <tutti/tutti.hpp>

#include <complex>
#include <string>

struct user_type {
  float x;
};
enum class colour { red };

tutti::sum<float> right;
tutti::min<int> least;
#ifdef MISTAKE
tutti::sum<user_type> a;                 // error: take tutti::reduce_with<type>\(function\)
tutti::prod<std::string> b;              // error: take tutti::reduce_with<type>\(function\)
tutti::max<colour> c;                    // error: take tutti::reduce_with<type>\(function\)
tutti::sum<_Float16> d;                  // error: take tutti::half for _Float16
tutti::sum<long double> e;               // error: long double has another format
tutti::sum<bool> f;                      // error: take tutti::logical_and
tutti::sum<float const> g;               // error: without const
tutti::min<std::complex<float>> h;       // error: complex numbers have no order
tutti::mean<int> i;                      // error: take tutti::sum, and divide
tutti::bit_and<float> j;                 // error: bitwise reductions work on integers
tutti::logical_or<float> k;              // error: logical reductions work on bool and integers
tutti::saturating_sum<unsigned> l;       // error: works on signed integers
tutti::reproducible_sum<tutti::half> m;  // error: widen half and bfloat16 to float
#endif

int main() {}
