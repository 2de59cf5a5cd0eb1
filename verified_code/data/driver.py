# Runs in the sandbox: calls a function of /given/solution.py once an input and writes one JSON line an input to descriptor 3.
# What is right is judged elsewhere, from values. Results that are no JSON are errors; nothing of the solution's runs to compare.
import importlib.util
import json
import os
import sys


def plain(value):
    """Plain data rebuilt from exact types, so that a class with an `__eq__` or `__repr__` of its own proves nothing."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind in (list, tuple):
        return [plain(v) for v in value]
    if kind is dict:
        return {str(k): plain(v) for k, v in value.items()}
    if kind in (set, frozenset):
        return sorted((plain(v) for v in value), key=lambda v: json.dumps(v))
    raise TypeError("a result of the type " + kind.__name__ + " is not carried")


def main(write=os.write, dumps=json.dumps):
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    try:
        spec = importlib.util.spec_from_file_location("solution", "/given/solution.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        function, broken = getattr(module, job["function"]), None
    except BaseException as error:
        function, broken = None, error
    for i, given in enumerate(job["inputs"]):
        try:
            if broken is not None:
                raise broken
            line = {"i": i, "output": {"return": plain(function(**given))}}
        except BaseException as error:
            line = {"i": i, "error": (type(error).__name__ + ": " + str(error))[:300]}
        write(3, (dumps(line) + "\n").encode())


main()
