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
#define DT_HOSTLIST_BYTES_MAX (1u << 26) /* bytes of all names of one list, with their NULs */
#define DT_HOSTLIST_BRACKETS_MAX 32      /* bracketed ranges in one name */

struct dt_hostlist;

/*
 * Order and repeats are kept. With several brackets in a name the last one varies
 * fastest, then the first, the second, and so on: a[0-1]b[0-1]c[0-1] begins
 * a0b0c0, a0b0c1, a1b0c0. As in Slurm, no text may follow a name's last bracket.
 * The limits are checked before anything is allocated. The caller frees with
 * dt_hostlist_destroy().
 */
int dt_hostlist_parse(struct dt_hostlist **list, const char *text, struct dtrain_error *err);
void dt_hostlist_destroy(struct dt_hostlist *list);

uint32_t dt_hostlist_count(const struct dt_hostlist *list);

/* Borrowed; NULL when i is out of range. */
const char *dt_hostlist_name(const struct dt_hostlist *list, uint32_t i);

/*
 * The shortest form that keeps order, as `scontrol show hostlist`:
 * n1,n2,n10 -> "n[1-2,10]", no names -> "". Refuses what dt_hostlist_parse() would
 * not read back as these names. *text is malloc'd, the caller frees.
 */
int dt_hostlist_format(char **text, const char *const *names, uint32_t n,
                       struct dtrain_error *err);

#endif
