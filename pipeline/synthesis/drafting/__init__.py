"""Drafts of specs for a person to review: from tool documentation with the help of a model, and from traces without.

Documentation, traces and answers are data. They are read, shortened and put into prompts and comments; what a model
writes goes through the reader of specs, which runs no code.
"""
