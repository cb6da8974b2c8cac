"""The lecturer's controls: lecture mode, slides, and the current page's QR code."""
