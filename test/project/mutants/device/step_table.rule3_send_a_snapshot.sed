# What a step sends is overwritten by what it receives, and no copy is sent.
s/t\.snapshot = s\.sends()/t.snapshot = false \&\& s.sends()/
