"""Ways for a payload to get in: hook, wrap, pipe, path."""
