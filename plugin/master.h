/*
 * master.h - where rank 0 listens: its node's address, and a port that two
 * steps of one cluster do not choose both.
 */
#ifndef DT_PLUGIN_MASTER_H
#define DT_PLUGIN_MASTER_H

#include "core/plan.h"

struct dt_master_key {
    uint32_t job_id, step_id, restart_count;
};

/*
 * min <= result <= max. The job picks the place in the range (FNV-1a), its steps
 * and restarts go on from there, so that those of one job never meet by chance.
 */
uint16_t dt_master_port(const struct dt_master_key *key, uint16_t min, uint16_t max);

/*
 * The numeric address of a host name or address. An address that other nodes
 * cannot use (loopback, link-local) is passed over unless is_alone.
 */
int dt_master_resolve(char address[DT_PLAN_ADDR_MAX], const char *name, bool is_alone,
                      struct dtrain_error *err);

#endif
