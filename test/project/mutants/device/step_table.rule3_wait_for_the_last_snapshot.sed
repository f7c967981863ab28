# A snapshot overwrites one that a peer may still read.
s/r\.of_snapshot && wait_for(r)/false \&\& wait_for(r)/
