"""What everything stands on: images and their geometry, checks, memory, threads."""
