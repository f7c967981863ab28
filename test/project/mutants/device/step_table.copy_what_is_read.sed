# If ranks are `apart`, steps read blocks that have not been copied.
s/if (!has(written_blocks_, b) && !has(reads_, b))/if (has(written_blocks_, b) \&\& !has(reads_, b))/
