"""A gateway: a server around the catalogue of a host, for the clients of other people.

The layers, the rules and the audit log are those of every server. The modules here add what only a gateway needs: each
caller has connections of its own to the servers, and their questions, log messages and progress reach that caller.
"""
