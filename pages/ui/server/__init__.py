"""Changes to Streamlit's server: disabled endpoints, a modified HTML document, and a warm-up."""
