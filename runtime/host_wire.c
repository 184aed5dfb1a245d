#include "host_wire.h"

#include <stdio.h>

#include "runtime/operation.h"
#include "runtime/type.h"

static bool reduces(unsigned kind)
{
    return kind == DT_ALL_REDUCE || kind == DT_REDUCE_SCATTER;
}

struct dt_host_header dt_host_header_of(const struct dt_operation *operation, uint64_t sequence)
{
    return (struct dt_host_header){
        .magic = DT_HOST_WIRE_MAGIC,
        .kind = (uint8_t)operation->kind,
        .type = (uint8_t)operation->type,
        .op = reduces(operation->kind) ? (uint8_t)operation->op : 0,
        .root = operation->kind == DT_BROADCAST ? operation->root : 0,
        .sequence = sequence,
        .bytes = operation->count * dtrain_type_size(operation->type),
    };
}

struct dt_host_header dt_host_header_of_transfer(const struct dtrain_transfer *transfer,
                                                 uint64_t sequence)
{
    return (struct dt_host_header){
        .magic = DT_HOST_WIRE_MAGIC,
        .kind = DT_TRANSFER,
        .type = (uint8_t)transfer->type,
        .sequence = sequence,
        .bytes = transfer->count * dtrain_type_size(transfer->type),
    };
}

bool dt_host_header_matches(const struct dt_host_header *a, const struct dt_host_header *b)
{
    return a->magic == b->magic && a->kind == b->kind && a->type == b->type && a->op == b->op &&
           a->root == b->root && a->sequence == b->sequence && a->bytes == b->bytes;
}

bool dt_host_header_is_collective(const struct dt_host_header *header)
{
    return header->kind <= DT_BARRIER && header->kind != DT_TRANSFER;
}

static const char *header_name(const struct dt_host_header *header, bool is_receiver)
{
    if (header->kind == DT_TRANSFER)
        return is_receiver ? "recv" : "send";
    if (header->kind <= DT_BARRIER)
        return dt_operation_kind_name(header->kind);
    return header->kind == DT_HOST_HELLO ? "hello" : "an unknown operation";
}

char *dt_host_header_text(char buf[DT_HOST_WIRE_TEXT_MAX], const struct dt_host_header *header,
                          bool is_receiver)
{
    char detail[48] = "";

    if (reduces(header->kind))
        snprintf(detail, sizeof(detail), ", %s", dt_op_name(header->op));
    else if (header->kind == DT_BROADCAST)
        snprintf(detail, sizeof(detail), ", root %d", header->root);
    if (header->kind == DT_BARRIER)
        snprintf(buf, DT_HOST_WIRE_TEXT_MAX, "barrier");
    else
        snprintf(buf, DT_HOST_WIRE_TEXT_MAX, "%s of %llu bytes (%s%s)",
                 header_name(header, is_receiver), (unsigned long long)header->bytes,
                 dt_type_name(header->type), detail);
    return buf;
}
