"""The whole way as functions: objects in, one object out that holds everything; nothing is printed or written."""
