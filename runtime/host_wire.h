/*
 * host_wire.h - what stands in front of every message of the host backend: the
 * operation that the sender is in, so that ranks which call different ones find
 * out instead of adding up each other's bytes.
 */
#ifndef DT_RUNTIME_HOST_WIRE_H
#define DT_RUNTIME_HOST_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/backend.h"

#define DT_HOST_WIRE_MAGIC 0x64747231u /* read differently by a machine of the other byte order */
#define DT_HOST_WIRE_TEXT_MAX 128      /* bytes of a header in words */

/* Kinds of messages beside enum dt_operation_kind. */
enum {
    DT_HOST_HELLO = 0x40,   /* first message on a communicator: bytes is its channel */
    DT_HOST_GAVE_UP = 0x41, /* last one: payload is the reason, root the world rank that found it */
};

struct dt_host_header {
    uint32_t magic;
    uint8_t kind;
    uint8_t type;
    uint8_t op; /* 0 where nothing is reduced */
    uint8_t zero;
    int32_t root; /* 0 where there is none */
    uint32_t zero2;
    uint64_t sequence; /* of the communicator's collective operations, or of the pair's transfers */
    uint64_t bytes;    /* of the operation, as it was called */
    uint64_t length;   /* payload that follows */
};

/* The header of a collective operation's messages; length is still 0. */
struct dt_host_header dt_host_header_of(const struct dt_operation *operation, uint64_t sequence);

/* The header of one transfer. */
struct dt_host_header dt_host_header_of_transfer(const struct dtrain_transfer *transfer,
                                                 uint64_t sequence);

/* Whether two headers are of the same operation; length may differ. */
bool dt_host_header_matches(const struct dt_host_header *a, const struct dt_host_header *b);

/* Whether sequence counts collective operations. */
bool dt_host_header_is_collective(const struct dt_host_header *header);

/* "all_reduce of 40 bytes (float32, sum)". Transfers are sends, or receives when is_receiver. */
char *dt_host_header_text(char buf[DT_HOST_WIRE_TEXT_MAX], const struct dt_host_header *header,
                          bool is_receiver);

#endif
