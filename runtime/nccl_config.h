/*
 * nccl_config.h - a communicator's configuration in the form that NCCL reads.
 * NCCL takes the fields that it knows and ignores what lies behind them, so the
 * newest form is given to all; what is set and not known is refused here.
 */
#ifndef DT_RUNTIME_NCCL_CONFIG_H
#define DT_RUNTIME_NCCL_CONFIG_H

#include "runtime/backend.h"

struct dt_nccl_api;

/* As ncclConfig_t of NCCL 2.28, whatever header this is built with. Fields are only ever added at its end. */
struct dt_nccl_config {
    size_t size;
    unsigned int magic, version;
    int blocking;
    int cga_cluster_size, min_ctas, max_ctas;
    const char *net_name;
    int split_share;
    int traffic_class;
    const char *comm_name;
    int collnet_enable, cta_policy, shrink_share, nvls_ctas;
    int channels_per_net_peer, nvlink_centric_sched;
};

/*
 * Non-blocking, with the communicator's name, sharing nothing unless asked to. name
 * and values are borrowed by *config. -1: a field that this NCCL does not know.
 */
int dt_nccl_config_fill(struct dt_nccl_config *config, const struct dt_nccl_api *api, const char *name,
                        const struct dt_comm_config *values, struct dtrain_error *err);

#endif
