/*
 * hostlist.h - Slurm's hostlist expressions, both ways.
 *
 * Expansion equals `scontrol show hostnames` on every valid expression
 * (several bracketed ranges in one name included, with Slurm's order of the
 * product); what scontrol accepts by accident (unclosed brackets, empty
 * entries) is refused.
 */
#ifndef DT_CORE_HOSTLIST_H
#define DT_CORE_HOSTLIST_H

#include <stdint.h>

#include "error.h"

#define DT_HOSTLIST_HOSTS_MAX (1u << 20) /* hosts in one list */
#define DT_HOSTLIST_RANGE_MAX (1u << 16) /* hosts in one range, as Slurm */
#define DT_HOSTLIST_NAME_MAX 255         /* bytes of one name, without the NUL */

struct dt_hostlist;

/* Order and repeats are kept. The caller frees with dt_hostlist_destroy(). */
int dt_hostlist_parse(struct dt_hostlist **list, const char *text, struct dtrain_error *err);
void dt_hostlist_destroy(struct dt_hostlist *list);

uint32_t dt_hostlist_count(const struct dt_hostlist *list);

/* Borrowed; NULL when i is out of range. */
const char *dt_hostlist_name(const struct dt_hostlist *list, uint32_t i);

/*
 * The shortest form that keeps order, as `scontrol show hostlist`:
 * n1,n2,n10 -> "n[1-2,10]". *text is malloc'd, the caller frees.
 */
int dt_hostlist_format(char **text, const char *const *names, uint32_t n,
                       struct dtrain_error *err);

#endif
