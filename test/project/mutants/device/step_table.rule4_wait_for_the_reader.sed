# A block is overwritten while a peer may still read it.
s/!r\.of_snapshot && overlap/false \&\& overlap/
