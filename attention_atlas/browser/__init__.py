"""The attention browser without Streamlit: the data for its script, and the scripts, styles and HTML file around it."""
