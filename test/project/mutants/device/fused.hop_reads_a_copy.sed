# In place, peers read what is being overwritten.
s/return is_copied(of(r)) ? copied/return false ? copied/
