# Apart, peers are told of an input that not all threads have copied.
s/bool const copied = g_\.all(true);/bool const copied = true;/
