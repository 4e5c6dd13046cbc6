"""Parameters followed while a robot works: rows as they come, walks of what drifts, alarms where the model is wrong."""
