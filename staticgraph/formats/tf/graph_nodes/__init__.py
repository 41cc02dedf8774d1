"""Nodes of a GraphDef that are functions of this library, and not single ops: how they are read."""
