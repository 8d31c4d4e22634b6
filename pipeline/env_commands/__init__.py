"""`python -m pipeline env ...`: find, check and play environments by hand."""
