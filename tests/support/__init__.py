"""What several tests and studies of faults share: a world of commands to strike, processes to strike, and inputs."""
