#include "checkpoint_format.h"

#include <string.h>

uint64_t format_checksum(uint64_t sum, const unsigned char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sum = (sum ^ bytes[i]) * UINT64_C(0x100000001b3);
    return sum;
}

static void put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        to[i] = (unsigned char)(value >> (8 * i));
}

static uint64_t get(const unsigned char *from, int bytes)
{
    uint64_t value = 0;

    for (int i = 0; i < bytes; i++)
        value |= (uint64_t)from[i] << (8 * i);
    return value;
}

void format_put_u32(unsigned char *to, uint32_t value)
{
    put(to, value, 4);
}

void format_put_u64(unsigned char *to, uint64_t value)
{
    put(to, value, 8);
}

uint32_t format_get_u32(const unsigned char *from)
{
    return (uint32_t)get(from, 4);
}

uint64_t format_get_u64(const unsigned char *from)
{
    return get(from, 8);
}

void format_put_floats(unsigned char *to, const float *values, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &values[i], sizeof(bits));
        format_put_u32(to + 4 * i, bits);
    }
}

void format_get_floats(float *values, const unsigned char *from, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits = format_get_u32(from + 4 * i);

        memcpy(&values[i], &bits, sizeof(bits));
    }
}

void format_put_header(unsigned char *to, const struct format_header *header)
{
    memset(to, 0, FORMAT_HEADER_BYTES);
    memcpy(to, FORMAT_MAGIC, FORMAT_MAGIC_BYTES);
    format_put_u32(to + 8, header->version);
    format_put_u32(to + 12, header->tensors);
    format_put_u64(to + 16, header->bytes);
    format_put_u64(to + 24, header->step);
    format_put_u32(to + 32, header->layers);
    format_put_u32(to + 36, header->hidden);
    format_put_u32(to + 40, header->heads);
    format_put_u32(to + 44, header->seq);
    format_put_u32(to + 48, header->vocabulary);
}

void format_get_header(struct format_header *header, const unsigned char *from)
{
    *header = (struct format_header){
        .version = format_get_u32(from + 8),
        .tensors = format_get_u32(from + 12),
        .bytes = format_get_u64(from + 16),
        .step = format_get_u64(from + 24),
        .layers = format_get_u32(from + 32),
        .hidden = format_get_u32(from + 36),
        .heads = format_get_u32(from + 40),
        .seq = format_get_u32(from + 44),
        .vocabulary = format_get_u32(from + 48),
    };
}

void format_put_tensor(unsigned char *to, const struct parameter *parameter)
{
    memset(to, 0, FORMAT_TENSOR_BYTES);
    memcpy(to, parameter->name, strnlen(parameter->name, PARAMETER_NAME_MAX));
    format_put_u64(to + PARAMETER_NAME_MAX, parameter->rows);
    format_put_u64(to + PARAMETER_NAME_MAX + 8, parameter->cols);
}

uint64_t format_file_bytes(const struct parameter *list, size_t count)
{
    uint64_t floats = parameter_total(list, count);

    return FORMAT_HEADER_BYTES + count * FORMAT_TENSOR_BYTES + floats * FORMAT_PARTS * sizeof(float) +
           FORMAT_CHECKSUM_BYTES;
}
