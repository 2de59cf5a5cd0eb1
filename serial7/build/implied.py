"""Constants that a text implies without saying them: `twice` 2, hours 60, a dozen 12."""

from __future__ import annotations

import re
from fractions import Fraction

_IMPLIED: tuple[tuple[Fraction, str], ...] = tuple(
    (Fraction(value), words)
    for value, words in (
        ("2", r"\b(?:twice|double[sd]?|half|halves|both|pairs?|couples?|round trip|biweekly|perimeter|weekends?)\b"),
        ("0.5", r"\b(?:half|halves)\b"),
        ("1.5", r"\b(?:one and a half|and a half|half again)\b"),
        ("3", r"\b(?:thrice|triple[sd]?|thirds?|yards?|triplets?)\b"),
        ("4", r"\b(?:quarters?|fourths?|four times|months?|quarterly|quadruple[sd]?|square)\b"),
        ("0.25", r"\b(?:quarters?|fourths?)\b"),
        ("0.75", r"\b(?:three[- ]quarters?|three[- ]fourths?)\b"),
        ("5", r"\b(?:fifths?|weekdays?|workweek|work week|nickels?|weekends?)\b"),
        ("0.2", r"\bfifths?\b"),
        ("6", r"\bsixths?\b"),
        ("7", r"\b(?:weeks?|weekly|daily|every day|each day|sevenths?)\b"),
        ("8", r"\beighths?\b"),
        ("0.125", r"\beighths?\b"),
        ("10", r"\b(?:tenths?|dimes?|decades?|millimeters?|centimeters?)\b"),
        ("12", r"\b(?:dozens?|years?|yearly|annual|annually|months?|feet|foot|inch|inches)\b"),
        ("16", r"\b(?:ounces?|pounds?)\b"),
        ("24", r"\b(?:days?|hours?)\b"),
        ("28", r"\bfebruary\b"),
        ("30", r"\b(?:months?|april|june|september|november|half an hour|half-hour)\b"),
        ("31", r"\b(?:january|march|may|july|august|october|december)\b"),
        ("36", r"\byards?\b"),
        ("52", r"\b(?:years?|yearly|annual|annually)\b"),
        ("60", r"\b(?:hours?|hourly|minutes?|seconds?)\b"),
        ("0.01", r"(?:%|\bpercent|\bcents?\b|\bpennies\b)"),
        ("0.05", r"\bnickels?\b"),
        ("0.1", r"\bdimes?\b"),
        ("100", r"(?:%|\bpercent|\bcents?\b|\bdollars?\b|\bmeters?\b|\bcentury\b|\$)"),
        ("365", r"\b(?:years?|yearly|annual|annually)\b"),
        ("1000", r"\b(?:kilo\w*|km|kg|kb|mb|gb|tons?|tonnes?|liters?|litres?|millilit\w*|ml|thousand)\b"),
        ("3600", r"\b(?:hours?|seconds?)\b"),
        ("5280", r"\bmiles?\b"),
    )
)


def implies(text: str, value: Fraction) -> bool:
    """Whether the lower-case English `text` implies the constant `value`."""
    return any(constant == value and re.search(words, text) for constant, words in _IMPLIED)
