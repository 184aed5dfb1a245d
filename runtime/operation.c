#include "operation.h"

static const char *const names[] = {
    [DT_ALL_REDUCE] = "all_reduce", [DT_ALL_GATHER] = "all_gather",
    [DT_REDUCE_SCATTER] = "reduce_scatter", [DT_BROADCAST] = "broadcast",
    [DT_ALL_TO_ALL] = "all_to_all", [DT_TRANSFER] = "transfer",
    [DT_BARRIER] = "barrier",
};

const char *dt_operation_kind_name(enum dt_operation_kind kind)
{
    return (size_t)kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "?";
}

const char *dt_operation_name(const struct dt_operation *operation)
{
    if (operation->kind == DT_TRANSFER && operation->transfer_count == 1)
        return operation->transfers[0].is_send ? "send" : "recv";
    return dt_operation_kind_name(operation->kind);
}
