"""Products over several ranks: that their bits are those of one device, what they take, and how much of it is movement."""
