# An operation ends while peers still read its input.
s/good = link_\.wait_for_consumed(peer(i), 1);/good = true;/
