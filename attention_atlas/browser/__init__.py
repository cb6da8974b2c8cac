"""The attention browser without Streamlit: its data, scripts, style sheets and HTML file."""
