# A step that overwrites what it sends does so without a snapshot, where peers read memory.
s/overwrites_itself_ \&\& !snapshot_taken_ \&\& c\.transport\.shares(end\.peer, flow_, {from, bytes})/false/
