/*
 * plan_wire.h - the variable SLURM_DTRAIN_PLAN, both ways.
 *
 * One versioned line, fields in a fixed order:
 *
 *   1;tp=8;cp=1;ep=1;dp=2;pp=2;etp=8;order=tp-cp-ep-dp-pp;span=node;backend=auto;
 *   nodes=n[1-4];tasks=8(x4);procids=0+8:1/4:8;addr=10.0.0.1;port=61234
 *
 * procids lists the Slurm task id of each world rank as comma-separated runs
 * START[+COUNT:STRIDE[/REPEAT:SHIFT]]: COUNT ids from START by STRIDE, the whole
 * REPEAT times, each SHIFT further. Block, cyclic and plane distributions are
 * one or a few runs. The plan of equal inputs has one text only, so texts and
 * hashes can be compared.
 */
#ifndef DT_CORE_PLAN_WIRE_H
#define DT_CORE_PLAN_WIRE_H

#include "plan.h"

#define DT_PLAN_WIRE_NAME "SLURM_DTRAIN_PLAN"
/* Limit of one string in an environment on Linux, name and NUL included. */
#define DT_PLAN_WIRE_MAX (128u * 1024u - 1u)

/* *text is malloc'd, the caller frees. Refuses what is longer than DT_PLAN_WIRE_MAX. */
int dt_plan_wire_encode(char **text, const struct dt_plan *plan, struct dtrain_error *err);

/*
 * text is hostile: every field is checked, and the plan is created by
 * dt_plan_create(). Errors begin with the variable's name.
 */
int dt_plan_wire_decode(struct dt_plan **plan, const char *text, struct dtrain_error *err);

/* FNV-1a, 64 bits: plans are the same exactly if their texts are, and equal texts have equal hashes. */
uint64_t dt_plan_wire_hash(const char *text);

#endif
