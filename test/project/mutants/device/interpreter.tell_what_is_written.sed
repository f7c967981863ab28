# A message is announced before all threads have written it.
s/bool const is_written = g_\.barrier_and(true);/bool const is_written = true;/
