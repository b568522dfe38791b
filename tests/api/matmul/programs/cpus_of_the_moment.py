"""The CPUs that a process may use when it asks decide how many threads there are."""

import os

import ozfp4

cpus = os.sched_getaffinity(0)
before = ozfp4.get_num_threads()
said = ozfp4.matmul([[1.0]], [[2.0]], report=True)[1].device
assert f", {before} threads" in said, said
os.sched_setaffinity(0, {min(cpus)})
one = ozfp4.get_num_threads()
said = ozfp4.matmul([[1.0]], [[2.0]], report=True)[1].device
assert ", 1 threads" in said, said
os.sched_setaffinity(0, cpus)
assert (one, ozfp4.get_num_threads()) == (1, before), (one, before)
assert before <= len(cpus)
