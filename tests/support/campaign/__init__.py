"""Hostile inputs and faults on purpose: what ``make fuzz`` and ``make faults`` run."""
