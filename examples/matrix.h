/*
 * matrix.h - what the small examples compute: products of dense matrices of
 * doubles, row by row, element (i, j) of a [rows, columns] at i * columns + j.
 * Plain loops, to be read and not to be fast. Pure.
 */
#ifndef EXAMPLES_MATRIX_H
#define EXAMPLES_MATRIX_H

#include <stddef.h>

/* c[rows, columns] = a[rows, inner] b[inner, columns] */
void matrix_product(double *c, const double *a, const double *b, size_t rows, size_t inner, size_t columns);

/* c[rows, columns] = a[rows, inner] b', b being [columns, inner]: dX = dY W' */
void matrix_product_transposed(double *c, const double *a, const double *b, size_t rows, size_t inner,
                               size_t columns);

/* c[inner, columns] += a' b, a being [rows, inner] and b [rows, columns]: dW += X' dY */
void matrix_add_product(double *c, const double *a, const double *b, size_t rows, size_t inner,
                        size_t columns);

/* b[rows, count] = the columns first .. first + count - 1 of a[rows, columns] */
void matrix_columns(double *b, const double *a, size_t rows, size_t columns, size_t first, size_t count);

/* Numbers from -0.5 to 0.5 with one decimal, other ones for another seed: easy to follow by hand. */
void matrix_fill(double *a, size_t count, unsigned seed);

/*
 * The first i for which got[i] is not expected[i], beyond rounding: 1e-12, relative for numbers above 1.
 * What is no number differs from all. count where there is none.
 */
size_t matrix_difference(const double *got, const double *expected, size_t count);

#endif
