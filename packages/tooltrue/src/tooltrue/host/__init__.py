"""Many servers, any model, and one person who can say no."""
