/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regular floating point: a fast Fourier transform, a matrix product and a relaxation, one after the other.
 * usage: fft [ROUNDS] */
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define N 4096
#define SIDE 96
#define GRID 160

static double complex signal[N], root[N / 2];
static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
static double grid[2][GRID][GRID];

static void reverse(void)
{
    for (unsigned i = 1, j = 0; i < N; i++) {
        unsigned bit = N >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            double complex t = signal[i];
            signal[i] = signal[j];
            signal[j] = t;
        }
    }
}

static void transform(void)
{
    reverse();
    for (unsigned half = 1; half < N; half *= 2)
        for (unsigned at = 0; at < N; at += 2 * half)
            for (unsigned k = 0; k < half; k++) {
                double complex r = root[k * (N / 2 / half)], x = signal[at + k + half], y;
                y = CMPLX(creal(r) * creal(x) - cimag(r) * cimag(x),
                          creal(r) * cimag(x) + cimag(r) * creal(x));
                signal[at + k + half] = signal[at + k] - y;
                signal[at + k] += y;
            }
}

static void multiply(void)
{
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            double sum = 0;
            for (int k = 0; k < SIDE; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] = sum;
        }
}

static double relax(int from)
{
    double most = 0;
    for (int i = 1; i < GRID - 1; i++)
        for (int j = 1; j < GRID - 1; j++) {
            double v = 0.25 * (grid[from][i - 1][j] + grid[from][i + 1][j] + grid[from][i][j - 1] +
                               grid[from][i][j + 1]);
            double change = fabs(v - grid[from][i][j]);
            if (change > most)
                most = change;
            grid[!from][i][j] = v;
        }
    return most;
}

int main(int argc, char **argv)
{
    double total = 0;
    for (unsigned k = 0; k < N / 2; k++)
        root[k] = CMPLX(cos(2 * M_PI * k / N), -sin(2 * M_PI * k / N));
    for (unsigned i = 0; i < N; i++)
        signal[i] = CMPLX(sin(i * 0.37) + cos(i * 1.3), 0);
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++)
            a[i][j] = i + j, b[i][j] = i - j;
    for (int j = 0; j < GRID; j++)
        grid[0][0][j] = grid[1][0][j] = j;
    for (int round = argc > 1 ? atoi(argv[1]) : 300; round-- > 0;) {
        transform();
        for (unsigned i = 0; i < N; i++)
            signal[i] *= 1.0 / 64;
        multiply();
        total += c[round % SIDE][3];
        for (int k = 0; k < 12; k++)
            total += relax(k & 1);
    }
    printf("%g %g\n", total, cabs(signal[5]));
}
