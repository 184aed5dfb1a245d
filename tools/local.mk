bin_PROGRAMS += dtrain
dtrain_SOURCES = \
	tools/cmd_env.c \
	tools/cmd_help.c \
	tools/cmd_plan.c \
	tools/cmd_schedule.c \
	tools/cmd_suggest.c \
	tools/cmd_topo.c \
	tools/command.c tools/command.h \
	tools/console.c tools/console.h \
	tools/dtrain.c \
	tools/option_table.c tools/option_table.h \
	tools/plan_cost.c tools/plan_cost.h \
	tools/plan_groups.c tools/plan_groups.h \
	tools/plan_machine.c tools/plan_machine.h \
	tools/plan_options.c tools/plan_options.h \
	tools/plan_place.c tools/plan_place.h \
	tools/plan_rank.c tools/plan_rank.h \
	tools/plan_step.c tools/plan_step.h \
	tools/plan_svg.c tools/plan_svg.h \
	tools/plan_switches.c tools/plan_switches.h \
	tools/schedule_json.c \
	tools/schedule_options.c tools/schedule_options.h \
	tools/schedule_svg.c \
	tools/schedule_text.c \
	tools/schedule_view.h \
	tools/suggest_gpu.c tools/suggest_gpu.h \
	tools/suggest_layout.c tools/suggest_layout.h \
	tools/suggest_limits.c tools/suggest_limits.h \
	tools/suggest_machine.c tools/suggest_machine.h \
	tools/suggest_memory.c tools/suggest_memory.h \
	tools/suggest_model.c tools/suggest_model.h \
	tools/suggest_options.c tools/suggest_options.h \
	tools/suggest_print.c tools/suggest_print.h \
	tools/suggest_search.c tools/suggest_search.h \
	tools/suggest_time.c tools/suggest_time.h \
	tools/suggest_why.c tools/suggest_why.h \
	tools/svg.c tools/svg.h \
	tools/table.c tools/table.h \
	tools/topo_json.c tools/topo_json.h \
	tools/topo_layout.c tools/topo_layout.h \
	tools/topo_links.c tools/topo_links.h \
	tools/topo_options.c tools/topo_options.h \
	tools/topo_save.c tools/topo_save.h \
	tools/topo_source.c tools/topo_source.h \
	tools/topo_svg.c tools/topo_svg.h \
	tools/topo_text.c tools/topo_text.h \
	tools/topo_view.c tools/topo_view.h
dtrain_CFLAGS = $(AM_CFLAGS) $(DT_HWLOC_CFLAGS)
dtrain_LDADD = libdtimport.la libdttopo.la libdtschedule.la libdtcore.la $(DT_HWLOC_LIBS) -lm

# Writes the man pages from their templates and the tables of the programs.
noinst_PROGRAMS += tools/mangen
tools_mangen_SOURCES = \
	tools/console.c tools/console.h \
	tools/mangen.c \
	tools/option_table.c tools/option_table.h \
	tools/plan_options.c tools/plan_options.h \
	tools/schedule_options.c tools/schedule_options.h \
	tools/suggest_limits.c tools/suggest_limits.h \
	tools/suggest_model.c tools/suggest_model.h \
	tools/suggest_options.c tools/suggest_options.h \
	tools/topo_options.c tools/topo_options.h
tools_mangen_LDADD = libdtschedule.la libdtcore.la
