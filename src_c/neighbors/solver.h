/* Non-negative least squares in Gram form, exactly: Lawson and Hanson's active set
 * method, started from the candidates that no nearer one rules out pairwise (the kernel
 * ratio interval, exact for two candidates, a good guess for more).
 *
 * The problem is scaled so that K_jj = 1 and max b = 1.  Its passive set P (weights
 * free to be positive) has the Cholesky factor R' R = K_PP, updated as candidates come
 * and go.
 */
#ifndef NNK_SOLVER_H
#define NNK_SOLVER_H

#include <math.h>

#include "octets.h"

#define SMALLEST_PIVOT 1e-13 /* of K_jj = 1: below, a candidate depends on passive ones */
#define GRADIENT_NOISE 2e-15 /* of max b = 1: below, a gradient is rounding */
#define WORTH_EXCHANGE 1e-12 /* gradient above which a dependent candidate replaces one */

/* Arrays of `row` numbers, n rounded up to whole octets; k and r are n such rows. */
typedef struct {
    int32_t n, size;
    int64_t row;
    double *k, *b;         /* in: the scaled problem */
    double *theta;         /* out: weights of the candidates */
    double *gradient;      /* b - K theta */
    double *r, *y;         /* R, zero below its diagonal and beyond `size`; R'^-1 b_P */
    double *z, *column;    /* scratch */
    int32_t *passive;      /* P in the order of R */
    uint8_t *state;
} nnk_problem;

enum { FREE, PASSIVE, BLOCKED, OUTSIDE };

/* Take candidate j into P; 0 if it depends on P and cannot. */
static int append(nnk_problem *s, int32_t j)
{
    const int32_t p = s->size;
    double *a = s->z, *r = s->column;
    for (int32_t m = 0; m < p; m++)
        a[m] = s->k[j * s->row + s->passive[m]];
    double square = 0, known = 0;
    for (int32_t m = 0; m < p; m++) {
        const double *row = s->r + m * s->row;
        r[m] = a[m] / row[m];
        square += r[m] * r[m];
        known += r[m] * s->y[m];
        const int64_t from = (m + 1) / LANES * LANES;
        subtract_multiple(a + from, r[m], row + from, whole_octets(p) - from);
    }
    const double pivot = s->k[j * s->row + j] - square;
    if (!(pivot > SMALLEST_PIVOT))
        return 0;
    for (int32_t m = 0; m < p; m++)
        s->r[m * s->row + p] = r[m];
    const double root = sqrt(pivot);
    s->r[p * s->row + p] = root;
    s->y[p] = (s->b[j] - known) / root;
    s->passive[p] = j;
    s->state[j] = PASSIVE;
    s->size++;
    return 1;
}

/* Take the candidate at place `at` out of P: its column leaves R, plane rotations of rows
 * make R triangular again. */
static void delete(nnk_problem *s, int32_t at)
{
    const int32_t last = --s->size;
    const int64_t row = s->row;
    s->state[s->passive[at]] = FREE;
    memmove(s->passive + at, s->passive + at + 1, sizeof *s->passive * (size_t)(last - at));
    for (int32_t m = 0; m <= last; m++) {
        double *r = s->r + m * row;
        const int32_t from = m < at ? at : m > at ? m - 1 : at;
        memmove(r + from, r + from + 1, sizeof *r * (size_t)(last - from));
        r[last] = 0;
    }
    for (int32_t m = at; m < last; m++) { /* rows m and m + 1 both begin at column m */
        double *a = s->r + m * row, *b = a + row;
        const double length = sqrt(a[m] * a[m] + b[m] * b[m]), c = a[m] / length, d = b[m] / length;
        for (int64_t i = m / LANES * LANES; i < whole_octets(last); i += PART) {
            const part u = load_part(a + i), v = load_part(b + i);
            store_part(a + i, c * u + d * v);
            store_part(b + i, c * v - d * u);
        }
        b[m] = 0;
        const double u = s->y[m], v = s->y[m + 1];
        s->y[m] = c * u + d * v;
        s->y[m + 1] = c * v - d * u;
    }
    memset(s->r + last * row, 0, sizeof *s->r * (size_t)whole_octets(last + 1));
}

/* z = R^-1 y */
static void back_substitute(nnk_problem *s, const double *y)
{
    const int64_t width = whole_octets(s->size);
    memset(s->z, 0, sizeof *s->z * (size_t)width);
    for (int32_t m = s->size - 1; m >= 0; m--) { /* z is still 0 up to m */
        const double *row = s->r + m * s->row;
        const int64_t from = (m + 1) / LANES * LANES;
        s->z[m] = (y[m] - dot(row + from, s->z + from, width - from)) / row[m];
    }
}

/* The unconstrained weights of P. */
static void solve_passive(nnk_problem *s) { back_substitute(s, s->y); }

static void update_gradient(nnk_problem *s)
{
    memcpy(s->gradient, s->b, sizeof *s->b * (size_t)s->row);
    for (int32_t m = 0; m < s->size; m++)
        subtract_multiple(s->gradient, s->theta[s->passive[m]], s->k + s->passive[m] * s->row, s->row);
}

/* P from the kernel ratio interval: nearest first, each candidate that no earlier one
 * rules out pairwise; then those of negative weight leave until none is left. */
static void start(nnk_problem *s)
{
    double *reach = s->gradient; /* largest b_i K_ij over the i taken */
    memset(reach, 0, sizeof *reach * (size_t)s->row);
    for (int32_t j = 0; j < s->n; j++)
        if (s->b[j] > reach[j] && append(s, j))
            for (int64_t i = 0; i < s->row; i += PART)
                store_part(reach + i, larger(load_part(reach + i), s->b[j] * load_part(s->k + j * s->row + i)));
    for (int changed = 1; changed;) {
        solve_passive(s);
        changed = 0;
        for (int32_t m = s->size - 1; m >= 0; m--)
            if (!(s->z[m] > 0))
                delete(s, m), changed = 1;
    }
    for (int32_t m = 0; m < s->size; m++)
        s->theta[s->passive[m]] = s->z[m];
}

/* The candidate of that state with the largest gradient, -1 if none is above rounding. */
static int32_t steepest(const nnk_problem *s, uint8_t state)
{
    int32_t best = -1;
    double largest = GRADIENT_NOISE;
    for (int32_t j = 0; j < s->n; j++)
        if (s->gradient[j] > largest && s->state[j] == state)
            largest = s->gradient[j], best = j;
    return best;
}

/* Go from theta towards z as far as weights stay positive; those that become 0 leave P. */
static int step(nnk_problem *s)
{
    double length = 1;
    int32_t first = -1;
    solve_passive(s);
    for (int32_t m = 0; m < s->size; m++) {
        const double old = s->theta[s->passive[m]];
        if (!(s->z[m] > 0) && (first < 0 || old / (old - s->z[m]) < length)) {
            first = m;
            length = old / (old - s->z[m]);
        }
    }
    for (int32_t m = s->size - 1; m >= 0; m--) {
        const int32_t j = s->passive[m];
        const double old = s->theta[j];
        s->theta[j] = first < 0 ? s->z[m] : old + length * (s->z[m] - old);
        if (first >= 0 && (m == first || !(s->theta[j] > 0))) {
            s->theta[j] = 0;
            delete(s, m);
        }
    }
    return first < 0;
}

/* Candidate j all but depends on P, K_j = K_P c, yet would lower the objective: give it
 * weight at the cost of c until a passive one is used up, which leaves for it. */
static int exchange(nnk_problem *s, int32_t j)
{
    do {
        back_substitute(s, s->column); /* as append left it */
        int32_t first = -1;
        double amount = 0;
        for (int32_t m = 0; m < s->size; m++) {
            const double limit = s->theta[s->passive[m]] / s->z[m];
            if (s->z[m] > 0 && (first < 0 || limit < amount))
                first = m, amount = limit;
        }
        if (first < 0) { /* K is not positive semi-definite */
            s->theta[j] = 0;
            return 0;
        }
        for (int32_t m = 0; m < s->size; m++) {
            double *theta = s->theta + s->passive[m];
            *theta = fmax(*theta - amount * s->z[m], 0);
        }
        s->theta[s->passive[first]] = 0;
        s->theta[j] += amount;
        delete(s, first);
    } while (!append(s, j));
    return 1;
}

/* Let candidate j enter; 0 if it must stay out.  If other candidates leave in return, which may
 * unblock more, *gone is set. */
static int enter(nnk_problem *s, int32_t j, int *gone)
{
    if (append(s, j)) {
        solve_passive(s);
        if (!(s->z[s->size - 1] > 0)) { /* its gradient was rounding after all */
            delete(s, s->size - 1);
            return 0;
        }
    } else {
        if (!(s->gradient[j] > WORTH_EXCHANGE && exchange(s, j)))
            return 0;
        *gone = 1;
    }
    while (!step(s))
        *gone = 1;
    return 1;
}

/* From feasible weights to the best of candidates that are not outside; the gradient is that
 * of the solution. */
static void descend(nnk_problem *s)
{
    for (int32_t turn = 0; turn < 10 * s->n + 20; turn++) {
        update_gradient(s);
        const int32_t j = steepest(s, FREE);
        if (j < 0)
            return;
        int gone = 0;
        if (!enter(s, j, &gone))
            s->state[j] = BLOCKED;
        for (int32_t i = 0; gone && i < s->n; i++)
            if (s->state[i] == BLOCKED) /* what they duplicated may have left */
                s->state[i] = FREE;
    }
    update_gradient(s);
}

static void clear(nnk_problem *s, uint8_t state)
{
    s->size = 0;
    memset(s->theta, 0, sizeof *s->theta * (size_t)s->row);
    memset(s->r, 0, sizeof *s->r * (size_t)(s->n * s->row));
    memset(s->state, state, (size_t)s->n);
}

/* Solve the scaled problem. */
static void solve(nnk_problem *s)
{
    clear(s, FREE);
    start(s);
    descend(s);
}

#endif
