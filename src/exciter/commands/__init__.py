"""What the words of the command line do: one file per command."""
