"""OSIRIS: a local-first state service for AI agents."""

__version__ = "0.1.0"
