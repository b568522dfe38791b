"""What multiplies: the CPU, and CUDA devices. A backend runs the kernel it is told to and asks nobody whom to trust."""
