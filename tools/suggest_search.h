/* suggest_search.h - all layouts that divide, those that fit, and their ranking. Pure. */
#ifndef DT_TOOLS_SUGGEST_SEARCH_H
#define DT_TOOLS_SUGGEST_SEARCH_H

#include <stddef.h>

#include "tools/suggest_limits.h"
#include "tools/suggest_memory.h"
#include "tools/suggest_time.h"

struct dt_suggest_choice {
    struct dt_suggest_layout layout;
    struct dt_suggest_memory memory;
    struct dt_suggest_time time; /* of the nearest that does not fit: of no meaning */
};

struct dt_suggest_result {
    struct dt_suggest_choice *choices; /* fastest first, one for each tp, cp, pp and dp. Owned */
    size_t count, room;
    struct dt_suggest_choice nearest; /* what needs least memory */
    uint64_t tried;                   /* layouts that divide, with all their variants */
};

/*
 * Refuses limits under which nothing divides, with the reason of the plainest layout inside them. count 0:
 * all that divides needs more memory than there is. Equal times are ranked by memory, then by the sizes: the
 * same inputs give the same order. The caller frees with dt_suggest_result_destroy(), after a failure, too.
 */
int dt_suggest_search(struct dt_suggest_result *result, const struct dt_suggest_model *model,
                      const struct dt_suggest_machine *machine, const struct dt_suggest_limits *limits,
                      struct dtrain_error *err);
void dt_suggest_result_destroy(struct dt_suggest_result *result);

/* The fewest nodes, by doubling, on which something fits, and the fastest there; false: none was found. */
bool dt_suggest_search_nodes(uint32_t *nodes, struct dt_suggest_choice *choice,
                             const struct dt_suggest_model *model, const struct dt_suggest_machine *machine,
                             const struct dt_suggest_limits *limits);

/* Bytes of a GPU that a layout may use. */
double dt_suggest_usable(const struct dt_suggest_machine *machine);

#endif
