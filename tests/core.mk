DT_CORE_TESTS = tests/unit/parse_test tests/unit/hostlist_test tests/unit/conf_test
TESTS += $(DT_CORE_TESTS)
check_PROGRAMS += $(DT_CORE_TESTS)
tests_unit_parse_test_LDADD = libdtcore.la
tests_unit_hostlist_test_LDADD = libdtcore.la
tests_unit_conf_test_LDADD = libdtcore.la

# The harnesses: short and the same every time in `make check`, long ones by hand with libFuzzer.
DT_FUZZERS = tests/fuzz/fuzz_task_counts tests/fuzz/fuzz_hostlist tests/fuzz/fuzz_conf \
	tests/fuzz/fuzz_plan_wire
if DT_LIBFUZZER
DT_FUZZ_SOURCES = tests/fuzz/fuzz.c tests/fuzz/fuzz.h tests/fuzz/seeds.c
noinst_PROGRAMS += $(DT_FUZZERS)
else
DT_FUZZ_SOURCES = tests/fuzz/fuzz.c tests/fuzz/fuzz.h tests/fuzz/driver.c
TESTS += $(DT_FUZZERS)
check_PROGRAMS += $(DT_FUZZERS)
endif
tests_fuzz_fuzz_task_counts_SOURCES = tests/fuzz/fuzz_task_counts.c $(DT_FUZZ_SOURCES)
tests_fuzz_fuzz_task_counts_LDADD = libdtcore.la
tests_fuzz_fuzz_task_counts_LDFLAGS = $(AM_LDFLAGS) $(DT_FUZZER_FLAGS)
tests_fuzz_fuzz_hostlist_SOURCES = tests/fuzz/fuzz_hostlist.c $(DT_FUZZ_SOURCES)
tests_fuzz_fuzz_hostlist_LDADD = libdtcore.la
tests_fuzz_fuzz_hostlist_LDFLAGS = $(AM_LDFLAGS) $(DT_FUZZER_FLAGS)
tests_fuzz_fuzz_conf_SOURCES = tests/fuzz/fuzz_conf.c $(DT_FUZZ_SOURCES)
tests_fuzz_fuzz_conf_LDADD = libdtcore.la
tests_fuzz_fuzz_conf_LDFLAGS = $(AM_LDFLAGS) $(DT_FUZZER_FLAGS)
tests_fuzz_fuzz_plan_wire_SOURCES = tests/fuzz/fuzz_plan_wire.c $(DT_FUZZ_SOURCES)
tests_fuzz_fuzz_plan_wire_LDADD = libdtcore.la
tests_fuzz_fuzz_plan_wire_LDFLAGS = $(AM_LDFLAGS) $(DT_FUZZER_FLAGS)
EXTRA_DIST += tests/fuzz/driver.c tests/fuzz/seeds.c tests/fuzz/long.sh
