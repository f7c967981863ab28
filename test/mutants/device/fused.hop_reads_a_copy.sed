# In place, peers read what is being overwritten.
s/bool const is_copied = FromSnapshot/bool const is_copied = false/
