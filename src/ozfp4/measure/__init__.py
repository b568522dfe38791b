"""What this machine is and how fast its parts are: for ``ozfp4 calibrate``, ``ozfp4 selftest --report`` and the benchmarks."""
