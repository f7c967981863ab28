# A step that overwrites what it sends takes no snapshot, although peers read its memory.
s/overwrites_itself_ \&\& !snapshot_taken_ \&\& context\.transport\.shares(end\.peer, flow_, {source, bytes})/false/
