"""Imports Hugging Face translation models, and exports this project's models to the Hugging Face format."""
