# A block is said to be what was sent before, although it has been written to.
s/bool const writes = .*/bool const writes = false;/
