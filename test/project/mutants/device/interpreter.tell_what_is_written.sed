# A message is announced before all threads have written it.
s/bool const written = g_\.all(true);/bool const written = true;/
