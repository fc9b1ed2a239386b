"""What a call asks for: options, settings, features and what is refused."""
