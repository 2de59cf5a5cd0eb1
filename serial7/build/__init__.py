"""The pipeline that makes a set: sources -> candidates -> validation -> repair -> pairing -> review.

Pure, but for files that it reads and writes by the path it is given. Source: paper figure 3, tables 15-18.
"""
