# A message is released before all threads have used it.
s/bool const is_used = g_\.barrier_and(true);/bool const is_used = true;/
