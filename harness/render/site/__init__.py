"""The static site: the same reports and figures as HTML pages that need no server; pure functions from data to text."""
