# Contributions are combined in another order than by direct.
s/(block + N - static_cast<rank_type>(Index)) % N/(block + static_cast<rank_type>(Index)) % N/
