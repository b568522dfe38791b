from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("ozfp4")
except PackageNotFoundError:  # imported from a source tree that was never installed
    __version__ = "0+unknown"
