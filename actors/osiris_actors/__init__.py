"""The runtime: actors, supervision, the writer and the store."""
