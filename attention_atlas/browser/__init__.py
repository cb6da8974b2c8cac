"""The attention browser without Streamlit: the data for its script, and the script, style and file around it."""
