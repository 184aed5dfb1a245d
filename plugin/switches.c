#include "switches.h"

#include <stdlib.h>

#include "core/hostlist.h"
#include "core/node_order.h"

#define NODES_TO_ORDER 3 /* fewer have nothing between them */

static int create(struct dt_switches **switches, const topo_info_response_msg_t *answer,
                  struct dtrain_error *err)
{
    uint32_t n = answer->record_count;
    struct dt_switches_record *records = calloc(n, sizeof(*records));
    int rc;

    if (records == NULL)
        return dt_error_memory(err, n * sizeof(*records), "the controller's switches");
    for (uint32_t i = 0; i < n; i++) {
        const topo_info_t *info = &answer->topo_array[i];

        records[i] = (struct dt_switches_record){info->name, info->level, info->nodes, info->switches};
    }
    rc = dt_switches_create(switches, records, n, err);
    free(records);
    return rc;
}

/* *switches stays NULL where the cluster has no topology. */
static int load(struct dt_switches **switches, struct dtrain_error *err)
{
    topo_info_response_msg_t *answer = NULL;
    int rc = 0;

    if (slurm_load_topo(&answer) != 0 || answer == NULL)
        return dt_error_set(err, "the controller does not say its switches: see slurmctld's log");
    if (answer->record_count > 0)
        rc = create(switches, answer, err);
    slurm_free_topo_info_msg(answer);
    return rc;
}

static void announce(const struct dt_step *step)
{
    char *list = NULL;

    if (dt_hostlist_format(&list, step->nodes, step->node_count, NULL) == 0)
        slurm_info("dtrain: the nodes are in the order of the cluster's switches: %.512s", list);
    free(list);
}

void dt_switches_order_step(struct dt_step *step)
{
    struct dt_node_order order = {step->node_count, step->nodes, step->tasks, step->procids};
    struct dt_switches *switches = NULL;
    struct dtrain_error err;
    bool is_changed = false;

    if (step->node_count < NODES_TO_ORDER)
        return;
    if (load(&switches, &err) != 0 ||
        (switches != NULL && dt_node_order_apply(&is_changed, &order, switches, &err) != 0))
        slurm_info("dtrain: the order of the nodes stays Slurm's: %s", err.text);
    if (is_changed)
        announce(step);
    dt_switches_destroy(switches);
}
