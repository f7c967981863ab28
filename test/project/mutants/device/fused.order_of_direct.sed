# Contributions are combined in another order than `direct` does.
s/(block + N - static_cast<rank_type>(Index)) % N/(block + static_cast<rank_type>(Index)) % N/
