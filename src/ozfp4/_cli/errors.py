"""The one exception that the command line turns into a line on stderr and exit status 2."""


class InputError(Exception):
    """What the user gave cannot be used; the message names the argument."""
