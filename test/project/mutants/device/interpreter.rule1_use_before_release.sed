# A message is released before all threads have used it.
s/bool const used = g_\.all(true);/bool const used = true;/
