# Reports of other programs' faults: each is replayed by a test row that carries its number.
TESTS += tests/cli/reports_test.sh
EXTRA_DIST += tests/cli/reports_test.sh
