"""Shared by all folders: errors, files, locks, progress bars, and the display of results."""
