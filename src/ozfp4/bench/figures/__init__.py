"""The figures, one module each: rows in, a matplotlib figure out; `style` is what they share."""
