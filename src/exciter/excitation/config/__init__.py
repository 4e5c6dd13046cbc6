"""A design as data: the YAML file of ``--config``."""
