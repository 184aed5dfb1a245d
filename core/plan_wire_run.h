/* plan_wire_run.h - what both directions of plan_wire share. */
#ifndef DT_CORE_PLAN_WIRE_RUN_H
#define DT_CORE_PLAN_WIRE_RUN_H

#include <stdint.h>

#define DT_PLAN_WIRE_VERSION "1"

/* COUNT ids from START by STRIDE, the whole REPEAT times, each SHIFT further. */
struct dt_plan_wire_run {
    uint32_t start, count, stride, repeat, shift;
};

#endif
