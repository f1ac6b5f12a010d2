"""Tests of commands as their users call them."""
