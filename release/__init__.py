"""The work of a release: archives, a folder of wheels, a smoke test, lists of what is shipped.

`docs/contributing/releasing.md` tells the steps. Each module runs as `python -m release.NAME` from the root of the
repository.
"""
