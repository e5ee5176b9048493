"""What a call asks for, and what engines and samplers offer."""
