"""The attention browser without Streamlit: what its script is sent, and the script, style and file around it."""
