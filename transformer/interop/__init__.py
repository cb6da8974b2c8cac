"""Imports translation models of Hugging Face, and exports ours to its format."""
