"""From a random start to the best motion within all limits."""
