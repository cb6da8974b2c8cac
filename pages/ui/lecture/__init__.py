"""The lecturer's controls: lecture mode on and off, the slides of a lecture, and the QR code of the shown page."""
