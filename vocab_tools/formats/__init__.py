"""One reader per vocabulary format, all giving a neutral :class:`~vocab_tools.formats.description.Description`."""
