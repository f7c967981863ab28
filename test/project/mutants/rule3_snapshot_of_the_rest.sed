# A step overwrites the rest of what it sends, where the transport copies a part at a time.
s/if (overwrites_itself_ \&\& !snapshot_taken_ \&\& !take_snapshot(context))/if (false)/
s/(overwrites_itself_ \&\& !is_sent_ \&\& !snapshot_taken_) ||//
