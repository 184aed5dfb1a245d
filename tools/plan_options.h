/* plan_options.h - the options of `dtrain plan`, some of them `dtrain topo`'s, too: srun's and its own. */
#ifndef DT_TOOLS_PLAN_OPTIONS_H
#define DT_TOOLS_PLAN_OPTIONS_H

#include "core/request.h"
#include "tools/console.h"

/* Where the topology of a node comes from; all NULL: none was named. Borrowed from argv. */
struct dt_plan_source {
    const char *machine; /* one of dt_import_machines() */
    const char *file;    /* any source of dt_import_sources(), "-" is stdin */
    const char *format;  /* what the file is, where its content must not decide */
};

#define DT_PLAN_BYTES_MAX (1ull << 44) /* of one axis, rank and step */

/* Texts are borrowed from argv; NULL and 0: not given. */
struct dt_plan_options {
    struct dt_request request;
    const char *nodes;          /* a hostlist, or how many */
    const char *tasks_per_node; /* one count for all, or Slurm's list "2(x3),1" */
    const char *distribution;
    const char *switches; /* a file, Slurm's topology.conf */
    uint32_t ntasks;
    uint32_t gpus_per_node;
    const char *groups[DT_GRID_COUNT];
    uint32_t rank;
    bool has_rank, is_json, is_svg, is_wire, is_help;
    struct dt_plan_source source;
    uint64_t bytes[DT_AXIS_COUNT]; /* of each rank and step: see plan_cost.h */
    const char *save;              /* a file for this machine's topology */
};

struct dt_plan_option {
    const char *name;     /* without the dashes */
    char letter;          /* its short form; 0: none */
    const char *argument; /* "N", for help; NULL: it takes none */
    const char *help;     /* one line */
    int (*apply)(struct dt_plan_options *options, const char *value, struct dtrain_error *err);
};

/* All but those of dt_options(), which `dtrain plan` takes with and without "dtrain-". */
const struct dt_plan_option *dt_plan_options_table(size_t *count);

/* Says on stderr what is wrong. */
enum dt_exit dt_plan_options_parse(struct dt_plan_options *options, int argc, char **argv);

void dt_plan_options_usage(struct dt_out *out);

#endif
