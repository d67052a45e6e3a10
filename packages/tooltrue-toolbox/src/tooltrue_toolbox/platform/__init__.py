"""The differences between operating systems that only the toolbox needs: confined paths, the sandbox of programs.

The rest of the toolbox imports these modules and no module of one system, as with
:mod:`tooltrue._internal.platform`.
"""
