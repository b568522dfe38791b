"""The caller's arguments, checked once and then a value."""
