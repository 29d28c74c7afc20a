"""The parts that the families share."""
