"""SERIAL-7: machine-verifiable outputs across seven representations, and the verifier that judges them.

`verify` is the whole library in one call:

>>> from serial7 import verify
>>> verify('{"answer": 3521}', format="json", graph=False).fc
True
"""

from __future__ import annotations

from serial7.ir import CanonicalIR
from serial7.verify import Verdict, verify

__all__ = ["CanonicalIR", "Verdict", "verify"]
