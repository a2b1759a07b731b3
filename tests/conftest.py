import torch

# Tests use networks of a few units: a second thread would only wait for the first, and for other processes.
torch.set_num_threads(1)
