"""State that outlives a request: facts shared by workers, and the log of events.

``facts``          the protocols ``Values``, ``Rates`` and ``Events``, together ``Facts``; ``MemoryFacts``
``log``            the protocol ``Log`` and ``MemoryLog``
``verify``         detects changes in a log
``log_index``      the parts of an SQLite log that a query must read, in a file beside it
``seal``           the head of a log, stored elsewhere
``sqlite``         both on one file, for the processes of one machine
``postgres``       the log on PostgreSQL
``store_thread``   the thread that uses a database; ``sqlite_thread``, one for an SQLite file; ``log_thread``, a log
                   written on such a thread
``places``         the location of this user's state
``urls``           the store for each URL

This package imports none of them: a user of memory stores does not pay for sqlite3.
"""
