"""What is sent into a sandbox to prepare and run Java functions; its runtime is in the image for Java."""
