# A step receives into the block that it sends, and no copy is sent.
s/t\.snapshot = s\.sends()/t.snapshot = false \&\& s.sends()/
