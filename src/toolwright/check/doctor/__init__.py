"""What an audit log says of tools in use: symptoms, with names and numbers, and where in the definition to look."""
