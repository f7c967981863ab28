# In place, peers read memory that is being overwritten.
s/return is_copied(buffers_of(r)) ? scratch/return false ? scratch/
