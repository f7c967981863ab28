# An operation ends while peers still read what it has sent.
s/link_\.is_first() && good && i != t\.peer_count/false \&\& i != t.peer_count/
