"""Changes to Streamlit's server: disabled endpoints, the served HTML document, and the warm-up."""
