DT_TOPO_TESTS = tests/unit/topo_test tests/unit/topo_xml_test tests/unit/topo_golden_test \
	tests/unit/topo_machine_test tests/unit/topo_trust_test
TESTS += $(DT_TOPO_TESTS)
check_PROGRAMS += $(DT_TOPO_TESTS)
tests_unit_topo_test_LDADD = libdttopo.la libdtcore.la
tests_unit_topo_xml_test_LDADD = libdttopo.la libdtcore.la
tests_unit_topo_golden_test_SOURCES = tests/unit/topo_golden_test.c tests/unit/topo_file.c tests/unit/topo_file.h
tests_unit_topo_golden_test_LDADD = libdttopo.la libdtcore.la
tests_unit_topo_machine_test_LDADD = libdttopo.la libdtcore.la
tests_unit_topo_trust_test_LDADD = libdttopo.la libdtcore.la

DT_FUZZERS += tests/fuzz/fuzz_topo_xml tests/fuzz/fuzz_topo_wire
tests_fuzz_fuzz_topo_xml_SOURCES = tests/fuzz/fuzz_topo_xml.c $(DT_FUZZ_SOURCES)
tests_fuzz_fuzz_topo_xml_LDADD = libdttopo.la libdtcore.la
tests_fuzz_fuzz_topo_xml_LDFLAGS = $(AM_LDFLAGS) $(DT_FUZZER_FLAGS)
tests_fuzz_fuzz_topo_wire_SOURCES = tests/fuzz/fuzz_topo_wire.c $(DT_FUZZ_SOURCES)
tests_fuzz_fuzz_topo_wire_LDADD = libdttopo.la libdtcore.la
tests_fuzz_fuzz_topo_wire_LDFLAGS = $(AM_LDFLAGS) $(DT_FUZZER_FLAGS)
