"""Settings chosen from the training data alone, each with its reason: a first run that is near the best."""
