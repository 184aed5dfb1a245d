# What dtrain says and draws of nodes.
TESTS += tests/cli/topo_test.sh tests/unit/topo_print_test tests/unit/plan_cost_test
check_PROGRAMS += tests/unit/topo_print_test tests/unit/plan_cost_test
EXTRA_DIST += tests/cli/topo_test.sh tests/cli/topo_check.py

topo_tool_cflags = $(AM_CFLAGS) $(DT_HWLOC_CFLAGS)
topo_tool_ldadd = libdttopo.la libdtcore.la $(DT_HWLOC_LIBS)
topo_tool_common = tests/unit/bind_node.c tests/unit/bind_node.h \
	tools/console.c \
	tools/svg.c \
	tools/table.c \
	tools/topo_json.c \
	tools/topo_text.c \
	tools/topo_view.c
tests_unit_topo_print_test_SOURCES = tests/unit/topo_print_test.c $(topo_tool_common) \
	tools/topo_layout.c \
	tools/topo_links.c \
	tools/topo_svg.c
tests_unit_topo_print_test_CFLAGS = $(topo_tool_cflags)
tests_unit_topo_print_test_LDADD = $(topo_tool_ldadd)
tests_unit_plan_cost_test_SOURCES = tests/unit/plan_cost_test.c $(topo_tool_common) \
	tools/plan_cost.c \
	tools/plan_place.c
tests_unit_plan_cost_test_CFLAGS = $(topo_tool_cflags)
tests_unit_plan_cost_test_LDADD = $(topo_tool_ldadd)
