"""Pure rules: bytes and structs in, structs out. No clock, no disk, no trio."""
