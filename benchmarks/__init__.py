"""Speed of the engines, compared with a hand-written search and with SPIN. Run by hand; not part of the package."""
