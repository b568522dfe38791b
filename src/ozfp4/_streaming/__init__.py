"""Products of operands on the host, made tile by tile on devices: what ``ozfp4.matmul(a, b, device="cuda")`` does.

An entry of the product depends on its row and its column alone. So every tile with its whole inner dimension has the bits of
the whole product, in every mode.
"""
