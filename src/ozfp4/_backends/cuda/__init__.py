"""Products of torch CUDA tensors by the extension ozfp4._cuda."""
