"""This machine's parts and their speed, for ``ozfp4 calibrate``, ``ozfp4 selftest --report`` and the benchmarks."""
