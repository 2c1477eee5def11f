"""The toolkit of C: slices, stand-ins guided by the compiler's diagnostics, and a runtime driven by types."""
