"""The backends: the CPU, and CUDA devices. A backend runs the given kernel; it does not choose or test one."""
