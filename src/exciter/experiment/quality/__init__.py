"""What is wrong with a recording, in words and numbers, and what can be repaired."""
