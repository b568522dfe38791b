"""What the caller asked, checked once and then a value."""
