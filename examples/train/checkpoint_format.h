/*
 * checkpoint_format.h - numbers as bytes, and the checksum, for the two sides
 * of checkpoint_file.h.
 */
#ifndef TRAIN_CHECKPOINT_FORMAT_H
#define TRAIN_CHECKPOINT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "parameter.h"
#include "shape.h"

#define FORMAT_MAGIC "DTRAINCK"
enum {
    FORMAT_VERSION = 2,
    FORMAT_VERSION_FLOAT32 = 1, /* without the bytes of a value */
    FORMAT_MAGIC_BYTES = 8,
    FORMAT_HEADER_BYTES = FORMAT_MAGIC_BYTES + 4 + 4 + 8 + 8 + 6 * 4,
    FORMAT_TENSOR_BYTES = PARAMETER_NAME_MAX + 8 + 8,
    FORMAT_CHECKSUM_BYTES = 8,
    FORMAT_PARTS = 3, /* weights, first moment, second moment */
};

struct format_header {
    uint32_t version, tensors;
    uint64_t bytes, step;
    uint32_t layers, hidden, heads, seq, vocabulary;
    uint32_t value_bytes; /* 4 or 8 */
};

#define FORMAT_CHECKSUM_START UINT64_C(0xcbf29ce484222325)
uint64_t format_checksum(uint64_t sum, const unsigned char *bytes, size_t n);

void format_put_u32(unsigned char *to, uint32_t value);
void format_put_u64(unsigned char *to, uint64_t value);
uint32_t format_get_u32(const unsigned char *from);
uint64_t format_get_u64(const unsigned char *from);

/* n values of a type, float32 or float64, to n times its size in bytes. */
void format_put_values(unsigned char *to, const void *values, enum dtrain_type type, size_t n);

/* n values of `saved` to values of type; both float32 or float64. */
void format_get_values(void *values, enum dtrain_type type, const unsigned char *from, enum dtrain_type saved,
                       size_t n);

void format_put_header(unsigned char *to, const struct format_header *header);
void format_get_header(struct format_header *header, const unsigned char *from);
void format_put_tensor(unsigned char *to, const struct parameter *parameter);

/* Bytes of the whole file. */
uint64_t format_file_bytes(const struct parameter *list, size_t count, enum dtrain_type type);

#endif
