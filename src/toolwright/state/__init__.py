"""What outlives a request: facts that workers share, and the log of what happened.

``facts``          the protocols ``Values``, ``Rates`` and ``Events``, together ``Facts``; ``MemoryFacts``
``log``            the protocol ``Log`` and ``MemoryLog``
``verify``         finds what was changed in a log
``sqlite``         both on one file, for the processes of one machine
``sqlite_thread``  the thread that owns such a file
``urls``           which URL opens what

Nothing is imported here: whoever needs memory does not pay for sqlite3.
"""
