# Peers are told of a block that not all threads have stored.
s/bool good = g_\.all(true);/bool good = true;/
