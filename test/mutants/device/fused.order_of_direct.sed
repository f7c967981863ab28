# Contributions are combined in another order than by direct.
s/(block + N - static_cast<rank_type>(I)) % N/(block + static_cast<rank_type>(I)) % N/
