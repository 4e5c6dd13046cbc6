"""The report of an identification, and of a validation: one file per section."""
