"""The differences between operating systems: locks, pipes, processes, private files, folders, the terminal.

The rest of the program imports these modules and no module of one system. Which way is taken depends on
:data:`~tooltrue._internal.platform.system.HAS_POSIX`, that is on what the interpreter offers and not on its name.
"""
