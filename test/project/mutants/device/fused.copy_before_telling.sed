# If ranks are `apart`, an input is announced to peers before all threads have copied it.
s/bool const copied = g_\.all(true);/bool const copied = true;/
