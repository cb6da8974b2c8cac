"""Changes to Streamlit's server: disabled endpoints, the served document, and the warm-up."""
