# A message is not released when it has been used.
s/^      c\.transport\.release(end\.peer, flow_);$//
