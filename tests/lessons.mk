# The small examples: what they share, each of them on threads, and on a cluster.
TESTS += tests/unit/lesson_test tests/cli/examples_test.sh
check_PROGRAMS += tests/unit/lesson_test
tests_unit_lesson_test_SOURCES = tests/unit/lesson_test.c tests/unit/tap.h $(lesson_sources)
tests_unit_lesson_test_LDADD = libdtrain.la -lm
EXTRA_DIST += tests/cli/examples_test.sh tests/slurm/examples_test.sh
