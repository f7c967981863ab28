# In place, peers read memory that is being overwritten.
s/return is_copied(of(r)) ? copied/return false ? copied/
