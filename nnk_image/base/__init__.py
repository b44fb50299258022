"""Checked images and their geometry, argument checks, memory, threads, safe writing."""
