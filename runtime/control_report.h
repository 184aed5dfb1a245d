/*
 * control_report.h - what the survivors of a world tell each other while they go
 * on: who they count among them, which communicators cannot be used any more, or
 * why it fails. Up the new tree from every rank, then the same down from its root.
 */
#ifndef DT_RUNTIME_CONTROL_REPORT_H
#define DT_RUNTIME_CONTROL_REPORT_H

#include "runtime/control.h"

#define DT_CHANNELS_MAX (1u << 22) /* in one report */

struct dt_report {
    char failure[DT_MESSAGE_TEXT_MAX]; /* "": none */
    unsigned char *members;            /* a bit a rank of the world; owned */
    size_t members_size;               /* bytes */
    struct dt_channels dirty;          /* ascending, each once; owned */
};

/* survivors: n ranks of a world. Takes over the channels. */
int dt_report_create(struct dt_report *report, const uint32_t *survivors, uint32_t n, uint32_t world,
                     struct dt_channels *dirty, struct dtrain_error *err);
void dt_report_free(struct dt_report *report);

/* The lowest rank that one of them counts and the other does not; DT_RANK_NONE: they are equal. */
uint32_t dt_report_difference(const struct dt_report *a, const struct dt_report *b);
bool dt_report_counts(const struct dt_report *report, uint32_t rank);

/* Adds the other's channels. */
int dt_report_merge(struct dt_report *report, const struct dt_report *other, struct dtrain_error *err);

/* A connection that does not block, and what ends waiting at it. */
struct dt_report_wire {
    int fd;
    const struct dt_peers *peers;
    uint64_t channel; /* somebody gave up when it is revoked */
    struct dt_deadline deadline;
};

/* Nothing is read past the report. */
int dt_report_send(const struct dt_report_wire *wire, const struct dt_report *report,
                   struct dtrain_error *err);
/* report: of the same world, zero-initialised; the caller frees it, also after -1. */
int dt_report_receive(const struct dt_report_wire *wire, struct dt_report *report, uint32_t world,
                      struct dtrain_error *err);

#endif
