# A message is not released after it has been used.
s/^      context\.transport\.release(end\.peer, flow_);$//
