"""Tools made of a description of an HTTP API: OpenAPI 3.0 and 3.1, and Swagger 2.0.

In the order in which a file becomes tools: ``document`` reads it (``yaml_reader``, ``validation``, ``swagger``),
``operations`` makes the values of ``operation`` of it, ``selection`` and ``plan`` choose, ``tool_definition`` has the
parts that a tool publishes (``schema_conversion``, ``response_shape``, ``texts``), also of several operations
(``operation_choice``). In the order of a call: ``request_building`` (with ``parameter_styles``), ``credentials``,
``api_client``, ``response_check``. ``openapi_tools`` puts them together.

Nothing is imported here: the parser and the validator come with the extra ``openapi``.
"""
