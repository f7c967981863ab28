# A block is overwritten while a peer may still read it.
s/readers_\.empty() ||/true ||/
