"""Small things that know nothing of products."""
