"""How fast the engines are, beside a hand-written search and beside SPIN. Run by hand; no part of the package."""
