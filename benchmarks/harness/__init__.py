"""The parts of benchmarks/run.py; only Python's own library is needed, but for peer.py."""
