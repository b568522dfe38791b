"""``ozfp4.emulate``: within a scope the products of torch and NumPy go through ozfp4, all of them or those that gain by it.

A folder of another name than its function, which would hide it.
"""
