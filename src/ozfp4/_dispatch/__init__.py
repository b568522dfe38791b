"""From a request to a decision: which plan, which kernel, and why; and products that repeat one made before."""
