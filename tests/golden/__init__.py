"""Golden numbers: what the package computes today, to nine digits, so that a change of any of them is noticed."""
