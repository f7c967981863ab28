# A block is declared a repetition of the previous send, although it has been overwritten.
s/bool const writes = .*/bool const writes = false;/
