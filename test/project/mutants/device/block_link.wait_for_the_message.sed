# A message is read that has not come.
s/wait(&from(peer)\.sent, counts_\.received\[peer\] + message, peer)/wait(\&from(peer).sent, 0 * message, peer)/
