"""What is found about a network, held against what people say of the same words."""
