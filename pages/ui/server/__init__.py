"""The app's side of Streamlit's server: closed endpoints, the served document, and warming up."""
