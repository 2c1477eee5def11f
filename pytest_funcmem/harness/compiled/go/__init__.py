"""What Go has to offer for harnesses: scaffolds, programs, stubs and renamed twins."""
