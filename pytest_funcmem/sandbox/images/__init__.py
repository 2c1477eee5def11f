"""The images that code runs in: Dockerfiles, and what they are built from."""
