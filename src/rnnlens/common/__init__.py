"""What every folder uses: errors, files, progress bars, how results are shown."""
