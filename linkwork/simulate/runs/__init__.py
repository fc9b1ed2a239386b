"""One run: steps by compiled code or Python, up to events, and rows of them."""
