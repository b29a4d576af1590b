"""Measurements side by side with what people use today; run each as `python -m benchmarks.<name>`."""
