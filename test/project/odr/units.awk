# SPDX-License-Identifier: Apache-2.0
#
# Distributes headers over translation units that show that each header includes everything it needs. Run it in the
# folder of the headers. It prints a line for each unit: the headers to include, in this order.
#
#   awk -f units.awk <header>...
#
# The headers of a unit form a chain: each includes all headers before it, directly or indirectly. So nothing precedes
# a header that it does not include.

/^namespace/ { nextfile }  # includes below code are useless to it
/^#include <tutti\/.*\.hpp>/ {
  split($0, part, /[<>]/)
  includes[FILENAME] = includes[FILENAME] " " part[2]
}

function follow(header, from,    names, n, i) {
  n = split(includes[from], names, " ")
  for (i = 1; i <= n; ++i) {
    if (!((header, names[i]) in reaches)) {
      reaches[header, names[i]]
      reached[header] = reached[header] " " names[i]
      ++count[header]
      follow(header, names[i])
    }
  }
}

# Among the headers without a unit, the one that includes most; 0 if there is none.
function fullest(names, n,    i, best) {
  best = 0
  for (i = 1; i <= n; ++i) {
    if (names[i] in waiting && (!best || count[names[i]] > count[best])) {
      best = names[i]
    }
  }
  return best
}

END {
  for (i = 1; i < ARGC; ++i) {
    header[i] = ARGV[i]
    waiting[header[i]]
    count[header[i]] = 0
    follow(header[i], header[i])
  }
  while (last = fullest(header, ARGC - 1)) {
    line = ""
    while (last) {
      delete waiting[last]
      line = last (line == "" ? "" : " " line)
      n = split(reached[last], names, " ")
      last = fullest(names, n)
    }
    print line
  }
}
