bin_PROGRAMS += dtrain
dtrain_SOURCES = \
	tools/cmd_env.c \
	tools/cmd_help.c \
	tools/cmd_plan.c \
	tools/command.c tools/command.h \
	tools/console.c tools/console.h \
	tools/dtrain.c \
	tools/plan_groups.c tools/plan_groups.h \
	tools/plan_options.c tools/plan_options.h \
	tools/plan_rank.c tools/plan_rank.h \
	tools/plan_step.c tools/plan_step.h \
	tools/plan_switches.c tools/plan_switches.h
dtrain_LDADD = libdtcore.la

# Writes the man pages from their templates and the tables of the programs.
noinst_PROGRAMS += tools/mangen
tools_mangen_SOURCES = \
	tools/console.c tools/console.h \
	tools/mangen.c \
	tools/plan_options.c tools/plan_options.h
tools_mangen_LDADD = libdtcore.la
