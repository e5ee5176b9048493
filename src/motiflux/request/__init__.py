"""What a call asks for and is expected to take, and what engines and samplers offer."""
