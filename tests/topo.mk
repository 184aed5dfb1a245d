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
