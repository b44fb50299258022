"""Benchmarks for asv (airspeed velocity), which imports nothing else here."""
