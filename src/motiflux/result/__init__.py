"""What calls give back."""
