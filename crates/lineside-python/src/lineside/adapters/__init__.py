"""Adapters: agents of a framework under the hooks of a session, each in a module of its own that imports its framework."""
