"""What several tests of faults share: a world of commands to strike, processes to strike, and inputs."""
