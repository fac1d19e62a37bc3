"""`python -m rain` is `rain`."""

from rain.cli import main

main()
