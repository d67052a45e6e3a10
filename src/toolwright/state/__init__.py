"""What outlives a request: facts that workers share, and the log of what happened.

``facts``          the protocols ``Values``, ``Rates`` and ``Events``, together ``Facts``; ``MemoryFacts``
``log``            the protocol ``Log`` and ``MemoryLog``
``verify``         finds what was changed in a log
``seal``           the head of a log, kept elsewhere
``sqlite``         both on one file, for the processes of one machine
``postgres``       the log on PostgreSQL
``store_thread``   the thread that uses a database; ``sqlite_thread``, one that uses such a file; ``log_thread``, a log
                   that is written on one
``places``         where this user's state is
``urls``           which URL opens what

Nothing is imported here: whoever needs memory does not pay for sqlite3.
"""
