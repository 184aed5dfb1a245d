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

void format_put_values(unsigned char *to, const void *values, enum dtrain_type type, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bits64;
        uint32_t bits32;

        if (type == DTRAIN_FLOAT64) {
            memcpy(&bits64, (const double *)values + i, sizeof(bits64));
            format_put_u64(to + 8 * i, bits64);
        } else {
            memcpy(&bits32, (const float *)values + i, sizeof(bits32));
            format_put_u32(to + 4 * i, bits32);
        }
    }
}

static double get_value(const unsigned char *from, enum dtrain_type saved)
{
    uint64_t bits64 = get(from, (int)dtrain_type_size(saved));
    uint32_t bits32 = (uint32_t)bits64;
    double value64;
    float value32;

    memcpy(&value64, &bits64, sizeof(value64));
    memcpy(&value32, &bits32, sizeof(value32));
    return saved == DTRAIN_FLOAT64 ? value64 : (double)value32;
}

void format_get_values(void *values, enum dtrain_type type, const unsigned char *from, enum dtrain_type saved,
                       size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double value = get_value(from + i * dtrain_type_size(saved), saved);

        if (type == DTRAIN_FLOAT64)
            ((double *)values)[i] = value;
        else
            ((float *)values)[i] = (float)value;
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
    format_put_u32(to + 52, header->value_bytes);
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
        .value_bytes = format_get_u32(from + 52),
    };
    if (header->version == FORMAT_VERSION_FLOAT32)
        header->value_bytes = sizeof(float);
}

void format_put_tensor(unsigned char *to, const struct parameter *parameter)
{
    memset(to, 0, FORMAT_TENSOR_BYTES);
    memcpy(to, parameter->name, strnlen(parameter->name, PARAMETER_NAME_MAX));
    format_put_u64(to + PARAMETER_NAME_MAX, parameter->rows);
    format_put_u64(to + PARAMETER_NAME_MAX + 8, parameter->cols);
}

uint64_t format_file_bytes(const struct parameter *list, size_t count, enum dtrain_type type)
{
    uint64_t values = parameter_total(list, count);

    return FORMAT_HEADER_BYTES + count * FORMAT_TENSOR_BYTES +
           values * FORMAT_PARTS * dtrain_type_size(type) + FORMAT_CHECKSUM_BYTES;
}
