#!/bin/sh
# Print a Python that dpviz can run on. Argument: the interpreter the user asked for, or nothing.
# Every candidate is run, not only looked up: version managers leave names on the PATH that do not start.

suits() {
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' >/dev/null 2>&1
}

if [ -n "$1" ]; then
    if suits "$1"; then
        echo "$1"
        exit 0
    fi
    version=$("$1" -c 'import sys; print("is Python %d.%d" % sys.version_info[:2])' 2>/dev/null || echo "does not run")
    echo "dpviz needs Python 3.11 to 3.14, but PYTHON=$1 $version: name another, as in 'make run PYTHON=python3.12'." >&2
    exit 1
fi

# What .venv was made with stays, so that PYTHON= need not be named twice; without pip it was not made by us.
if suits .venv/bin/python && .venv/bin/python -c 'import pip' 2>/dev/null; then
    echo .venv/bin/python
    exit 0
fi

for candidate in python3 python3.13 python3.12 python3.11 python3.14 python; do
    if suits "$candidate"; then
        echo "$candidate"
        exit 0
    fi
done
version=$(python3 -c 'import sys; print("python3 here is %d.%d" % sys.version_info[:2])' 2>/dev/null || echo "none was found")
echo "dpviz needs Python 3.11 to 3.14, but $version: install one, or name it, as in 'make run PYTHON=/path/to/python3.12'." >&2
exit 1
