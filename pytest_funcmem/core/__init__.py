"""Frozen records, protocols, the error tree, the OPTIONS table, digests and the registry.

Everything imports this room and it imports none of the others, nor anything outside the standard library.
"""
