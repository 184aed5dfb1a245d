#include "nccl_config.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>

#include "nccl_api.h"

#define VERSION 22809 /* which has this form */
#define MAGIC 0xcafebeefu
#define UNSET INT_MIN
#define CTAS_MAX 64 /* MAXCHANNELS */

static_assert(offsetof(ncclConfig_t, blocking) == offsetof(struct dt_nccl_config, blocking) &&
                  offsetof(ncclConfig_t, netName) == offsetof(struct dt_nccl_config, net_name) &&
                  offsetof(ncclConfig_t, splitShare) == offsetof(struct dt_nccl_config, split_share),
              "the form is NCCL's as far as every header goes");

static const struct dt_nccl_config unset = {
    .size = sizeof(struct dt_nccl_config),
    .magic = MAGIC,
    .version = VERSION,
    .cga_cluster_size = UNSET,
    .min_ctas = UNSET,
    .max_ctas = UNSET,
    .traffic_class = UNSET,
    .collnet_enable = UNSET,
    .cta_policy = UNSET,
    .nvls_ctas = UNSET,
    .channels_per_net_peer = UNSET,
    .nvlink_centric_sched = UNSET,
};

static const size_t offsets[DT_COMM_FIELDS] = {
    [DT_COMM_CGA_CLUSTER_SIZE] = offsetof(struct dt_nccl_config, cga_cluster_size),
    [DT_COMM_MIN_CTAS] = offsetof(struct dt_nccl_config, min_ctas),
    [DT_COMM_MAX_CTAS] = offsetof(struct dt_nccl_config, max_ctas),
    [DT_COMM_SPLIT_SHARE] = offsetof(struct dt_nccl_config, split_share),
    [DT_COMM_TRAFFIC_CLASS] = offsetof(struct dt_nccl_config, traffic_class),
    [DT_COMM_COLLNET_ENABLE] = offsetof(struct dt_nccl_config, collnet_enable),
    [DT_COMM_CTA_POLICY] = offsetof(struct dt_nccl_config, cta_policy),
    [DT_COMM_SHRINK_SHARE] = offsetof(struct dt_nccl_config, shrink_share),
    [DT_COMM_NVLS_CTAS] = offsetof(struct dt_nccl_config, nvls_ctas),
    [DT_COMM_CHANNELS_PER_NET_PEER] = offsetof(struct dt_nccl_config, channels_per_net_peer),
    [DT_COMM_NVLINK_CENTRIC_SCHED] = offsetof(struct dt_nccl_config, nvlink_centric_sched),
};

static int check_version(const struct dt_nccl_api *api, const char *name, const struct dt_comm_config *values,
                         struct dtrain_error *err)
{
    size_t count;
    const struct dt_comm_field_row *rows = dt_comm_field_rows(&count);
    char what[DT_COMM_NAME_MAX + 64];

    for (size_t i = 0; i < count; i++) {
        if (!dt_comm_config_has(values, (enum dt_comm_field)i) || rows[i].since <= api->version)
            continue;
        snprintf(what, sizeof(what), "%s: %s", name, rows[i].name);
        return dt_nccl_api_refuse(api, what, rows[i].since, err);
    }
    return 0;
}

int dt_nccl_config_fill(struct dt_nccl_config *config, const struct dt_nccl_api *api, const char *name,
                        const struct dt_comm_config *values, struct dtrain_error *err)
{
    if (check_version(api, name, values, err) != 0)
        return -1;
    *config = unset;
    config->comm_name = name;
    for (int i = 0; i < DT_COMM_FIELDS; i++)
        if (offsets[i] != 0 && dt_comm_config_has(values, (enum dt_comm_field)i))
            *(int *)((char *)config + offsets[i]) = values->values[i];
    if (dt_comm_config_has(values, DT_COMM_NET_NAME))
        config->net_name = values->net_name;
    /* NCCL compares the two also where the second is not set, and refuses. */
    if (config->min_ctas != UNSET && config->max_ctas == UNSET)
        config->max_ctas = CTAS_MAX;
    return 0;
}
