"""The subcommands, one module each; see :mod:`ozfp4.cli`."""
