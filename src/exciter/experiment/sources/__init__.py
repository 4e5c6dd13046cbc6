"""Files of logs as tables of numbers."""
