"""Polynomials of a graph's Laplacian, by the Chebyshev recurrence, applied to images."""
