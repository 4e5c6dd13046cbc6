"""One run of the robot, whole or larger than memory, and the body it carries."""
