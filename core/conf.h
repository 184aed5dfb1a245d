/*
 * conf.h - dtrain.conf, the site's defaults: lines "key = value", "#" starts a
 * comment, blank lines are skipped. Text in memory only: who reads the file hands
 * it over. A new key is one row of the table in conf.c.
 */
#ifndef DT_CORE_CONF_H
#define DT_CORE_CONF_H

#include "comm_config.h"
#include "request.h"

#define DT_CONF_FILE_MAX (64u * 1024u) /* bytes of the file */
#define DT_CONF_LINE_MAX 1024u         /* bytes of a line without its newline */
#define DT_CONF_MPI_MAX 32             /* bytes of mpi with the NUL */

/* What the order of a step's nodes, and with it the ranks, follows. */
enum dt_node_order_choice { DT_NODE_ORDER_SWITCHES, DT_NODE_ORDER_SLURM };

struct dt_conf {
    enum dt_span tp_span;
    enum dt_node_order_choice node_order;
    enum dt_backend_choice backend;
    enum dt_report report;
    unsigned bind_items; /* enum dt_bind_item as bits */
    bool is_bind_verbose;
    enum dt_visible_mode visible;
    char order[DT_ORDER_MAX];
    uint16_t port_min, port_max; /* MASTER_PORT is one of these, both included */
    char mpi[DT_CONF_MPI_MAX];   /* for SLURM_MPI_TYPE; "" leaves it alone ("none" in the file) */
    struct dt_comm_configs comm; /* keys of the axes, "tp.max_ctas" */
};

struct dt_conf_key {
    const char *name;
    const char *value;    /* what may stand there, for the man page */
    const char *fallback; /* what holds without the key, in the file's notation */
    const char *help;
    int (*parse)(struct dt_conf *conf, const char *value, struct dtrain_error *err);
};

const struct dt_conf_key *dt_conf_keys(size_t *count);

/* The fallbacks of the table. */
void dt_conf_defaults(struct dt_conf *conf);

/*
 * Changes what the text names and keeps the rest; on failure *conf is as before.
 * Errors begin "file:line: ". Refuses unknown and repeated keys, empty and
 * impossible values, port_min above port_max, NUL bytes, and what is too long.
 */
int dt_conf_parse(struct dt_conf *conf, const char *text, size_t n, const char *file,
                  struct dtrain_error *err);

#endif
