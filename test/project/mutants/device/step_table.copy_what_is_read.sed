# Apart, steps read what has not been copied.
s/if (!has(written_, b) && !has(reads_, b))/if (has(written_, b) \&\& !has(reads_, b))/
