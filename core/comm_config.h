/*
 * comm_config.h - how NCCL builds the communicators of each axis: "tp.max_ctas = 8"
 * in dtrain.conf, the same joined by commas in the environment. The fields are
 * those of ncclConfig_t without blocking, which is always 0, and commName, which
 * is the communicator's own; no type of NCCL's is needed here. A new field is one
 * row of the table in comm_config.c. Pure.
 */
#ifndef DT_CORE_COMM_CONFIG_H
#define DT_CORE_COMM_CONFIG_H

#include "error.h"

#define DT_COMM_CONFIG_SITE_NAME "SLURM_DTRAIN_NCCL_CONFIG" /* dtrain.conf's, set by srun */
#define DT_COMM_CONFIG_USER_NAME "DTRAIN_NCCL_CONFIG"       /* wins over it */
#define DT_COMM_CONFIG_TEXT_MAX 4096 /* bytes of either with the NUL; every field of every axis fits */
#define DT_COMM_NET_NAME_MAX 32      /* bytes of net_name with the NUL */

/* Whose communicators a value is for. */
enum dt_comm_axis {
    DT_COMM_ALL, /* those that no row of an axis of their own speaks of */
    DT_COMM_TP,
    DT_COMM_CP,
    DT_COMM_EP,
    DT_COMM_DP,
    DT_COMM_PP,
    DT_COMM_ETP,
    DT_COMM_EDP,
    DT_COMM_AXES
};
extern const char *const dt_comm_axis_words[DT_COMM_AXES]; /* "all", "tp", ... */

enum dt_comm_field {
    DT_COMM_CGA_CLUSTER_SIZE,
    DT_COMM_MIN_CTAS,
    DT_COMM_MAX_CTAS,
    DT_COMM_NET_NAME,
    DT_COMM_SPLIT_SHARE,
    DT_COMM_TRAFFIC_CLASS,
    DT_COMM_COLLNET_ENABLE,
    DT_COMM_CTA_POLICY,
    DT_COMM_SHRINK_SHARE,
    DT_COMM_NVLS_CTAS,
    DT_COMM_CHANNELS_PER_NET_PEER,
    DT_COMM_NVLINK_CENTRIC_SCHED,
    DT_COMM_MEM_ALLOC, /* of the world's memory, hence for all only */
    DT_COMM_FIELDS
};

/* Of one communicator. Zero-initialise: nothing is set, NCCL's defaults hold. */
struct dt_comm_config {
    unsigned set;                   /* fields that have a value, as bits */
    int32_t values[DT_COMM_FIELDS]; /* but that of net_name */
    char net_name[DT_COMM_NET_NAME_MAX];
};

/* As written, by axis. Zero-initialise. */
struct dt_comm_configs {
    struct dt_comm_config of[DT_COMM_AXES];
};

struct dt_comm_field_row {
    const char *name;
    const char *value; /* what may stand there, for errors and the man page */
    uint32_t min, max; /* of a number; both 0: not one */
    int since;         /* NCCL's version that has it first, as ncclGetVersion() counts; 0: any */
    const char *help;
};

const struct dt_comm_field_row *dt_comm_field_rows(size_t *count);

/* The parts of a key, "tp.max_ctas". -1: not one; the error lists what is known. */
int dt_comm_config_find(enum dt_comm_axis *axis, enum dt_comm_field *field, const char *key,
                        struct dtrain_error *err);

/* One value; on failure *configs is as before. */
int dt_comm_configs_set(struct dt_comm_configs *configs, enum dt_comm_axis axis, enum dt_comm_field field,
                        const char *value, struct dtrain_error *err);

/*
 * Whether values fit together, with those for all where an axis has none. When
 * not, *axis is the first whose do not, and the error begins with its name.
 */
int dt_comm_configs_check(const struct dt_comm_configs *configs, enum dt_comm_axis *axis,
                          struct dtrain_error *err);

/*
 * "tp.max_ctas=8,all.split_share=0": pairs joined by commas or semicolons, blanks
 * are skipped, each key once. They win over what *configs holds already, which
 * on failure is as before. what names the text in the error. The text is hostile.
 */
int dt_comm_configs_parse(struct dt_comm_configs *configs, const char *text, const char *what,
                          struct dtrain_error *err);

/* The same text for every equal *configs; "" when nothing is set. */
void dt_comm_configs_encode(char text[DT_COMM_CONFIG_TEXT_MAX], const struct dt_comm_configs *configs);

/* What holds for an axis: its own values, else those for all. */
struct dt_comm_config dt_comm_config_of(const struct dt_comm_configs *configs, enum dt_comm_axis axis);

static inline bool dt_comm_config_has(const struct dt_comm_config *config, enum dt_comm_field field)
{
    return (config->set & 1u << field) != 0;
}

#endif
