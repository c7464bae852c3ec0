"""The store contract and its adapters."""
