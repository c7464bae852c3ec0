"""The MCP surface: transports, tools, schemas. It decides nothing."""
