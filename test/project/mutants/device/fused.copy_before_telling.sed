# If ranks are `apart`, an input is announced to peers before all threads have copied it.
s/bool const is_ready = g_\.barrier_and(true);/bool const is_ready = true;/
