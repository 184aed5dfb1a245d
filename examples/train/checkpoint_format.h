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
    FORMAT_VERSION = 1,
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
};

#define FORMAT_CHECKSUM_START UINT64_C(0xcbf29ce484222325)
uint64_t format_checksum(uint64_t sum, const unsigned char *bytes, size_t n);

void format_put_u32(unsigned char *to, uint32_t value);
void format_put_u64(unsigned char *to, uint64_t value);
uint32_t format_get_u32(const unsigned char *from);
uint64_t format_get_u64(const unsigned char *from);

/* n floats to 4 n bytes and back. */
void format_put_floats(unsigned char *to, const float *values, size_t n);
void format_get_floats(float *values, const unsigned char *from, size_t n);

void format_put_header(unsigned char *to, const struct format_header *header);
void format_get_header(struct format_header *header, const unsigned char *from);
void format_put_tensor(unsigned char *to, const struct parameter *parameter);

/* Bytes of the whole file. */
uint64_t format_file_bytes(const struct parameter *list, size_t count);

#endif
