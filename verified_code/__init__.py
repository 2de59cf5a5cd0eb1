"""What "verified" means: acceptance, binding and fidelity of verified code. Pure, but for `process`."""
