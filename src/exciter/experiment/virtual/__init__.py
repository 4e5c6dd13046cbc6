"""The virtual robot: an independent engine with secret parameters, to rehearse on."""
