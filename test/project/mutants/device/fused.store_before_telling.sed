# A block is announced to peers before all threads have stored it.
s/bool good = g_\.barrier_and(true);/bool good = true;/
