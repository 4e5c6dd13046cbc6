"""The whole way as functions: objects in, objects out. Nothing here prints, or knows of a terminal."""
