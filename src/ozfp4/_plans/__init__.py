"""Plans: what a product needs to know before it sees data."""
