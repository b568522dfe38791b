"""The subcommands, one module each; see :mod:`ozfp4._cli`."""
