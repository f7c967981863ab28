# An operation ends before its peers have stored their blocks.
s/good = link_\.wait_for_sent(peer(i), 1);/good = true;/
