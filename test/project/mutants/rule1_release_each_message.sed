# A message is not released after it has been used.
s/^      c\.transport\.release(end\.peer, flow_);$//
