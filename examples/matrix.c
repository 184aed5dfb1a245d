#include "matrix.h"

#include <math.h>
#include <string.h>

#define ROUNDING 1e-12

void matrix_product(double *c, const double *a, const double *b, size_t rows, size_t inner, size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            double sum = 0;

            for (size_t k = 0; k < inner; k++)
                sum += a[i * inner + k] * b[k * columns + j];
            c[i * columns + j] = sum;
        }
}

void matrix_product_transposed(double *c, const double *a, const double *b, size_t rows, size_t inner,
                               size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < columns; j++) {
            double sum = 0;

            for (size_t k = 0; k < inner; k++)
                sum += a[i * inner + k] * b[j * inner + k];
            c[i * columns + j] = sum;
        }
}

void matrix_add_product(double *c, const double *a, const double *b, size_t rows, size_t inner,
                        size_t columns)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < inner; k++)
            for (size_t j = 0; j < columns; j++)
                c[k * columns + j] += a[i * inner + k] * b[i * columns + j];
}

void matrix_columns(double *b, const double *a, size_t rows, size_t columns, size_t first, size_t count)
{
    for (size_t i = 0; i < rows; i++)
        memcpy(&b[i * count], &a[i * columns + first], count * sizeof(*b));
}

void matrix_fill(double *a, size_t count, unsigned seed)
{
    for (size_t i = 0; i < count; i++)
        a[i] = ((double)((i * i * 3 + i * (seed * 2 + 1) + seed * 5) % 11) - 5) / 10;
}

size_t matrix_difference(const double *got, const double *expected, size_t count)
{
    size_t i = 0;

    while (i < count && fabs(got[i] - expected[i]) <= ROUNDING * fmax(1, fabs(expected[i])))
        i++;
    return i;
}
