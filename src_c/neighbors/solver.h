/* Exact non-negative least squares in Gram form, by the active set method of Lawson and Hanson.  It
 * starts from the candidates that no nearer one rules out (the kernel ratio interval), which is the
 * solution for two candidates and a good guess for more.
 *
 * The problem is scaled such that K_jj = 1 and max b = 1.  The passive set P holds the candidates
 * whose weights may be positive.  The Cholesky factor R, R' R = K_PP, is updated when candidates
 * enter or leave P.
 */
#ifndef NNK_SOLVER_H
#define NNK_SOLVER_H

#include <math.h>

#include "octets.h"

#define SMALLEST_PIVOT 1e-13 /* with a smaller one, a candidate is linearly dependent on P */
#define GRADIENT_NOISE 2e-15 /* smaller gradients are rounding errors */
#define WORTH_EXCHANGE 1e-12 /* least gradient of a dependent candidate that replaces another */

/* A problem of n candidates and its solution.  Arrays have `row` numbers, n rounded up to a
 * multiple of LANES; k and r have n such rows. */
typedef struct {
    int32_t n, size;       /* candidates; those in P */
    int64_t row;
    double *k, *b;         /* the scaled problem */
    double *theta;         /* the solution */
    double *gradient;      /* b - K theta */
    double *r, *y;         /* R, zero below its diagonal and beyond `size`; R'^-1 b_P */
    double *z, *column;    /* scratch */
    int32_t *passive;      /* the candidates of P, in the order of R */
    uint8_t *state;        /* of each candidate, see below */
} nnk_problem;

/* States of candidates.
 *   FREE     may enter P
 *   PASSIVE  in P
 *   BLOCKED  cannot enter P until another candidate leaves it
 *   OUTSIDE  not considered by `descend` */
enum { FREE, PASSIVE, BLOCKED, OUTSIDE };

/* Add candidate j to P.  Return 0, without adding it, if it is linearly dependent on P.  s->column
 * is left as R'^-1 K_Pj. */
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

/* Remove the candidate at position `at` from P: remove its column from R, and make R triangular
 * again by plane rotations of its rows. */
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

/* Compute z = R^-1 y. */
static void back_substitute(nnk_problem *s, const double *y)
{
    const int64_t width = whole_octets(s->size);
    memset(s->z, 0, sizeof *s->z * (size_t)width);
    for (int32_t m = s->size - 1; m >= 0; m--) { /* z[0 .. m] is still 0 */
        const double *row = s->r + m * s->row;
        const int64_t from = (m + 1) / LANES * LANES;
        s->z[m] = (y[m] - dot(row + from, s->z + from, width - from)) / row[m];
    }
}

/* Compute the unconstrained weights of P in z. */
static void solve_passive(nnk_problem *s) { back_substitute(s, s->y); }

/* Compute the gradient b - K theta, if only candidates in P have weights. */
static void update_gradient(nnk_problem *s)
{
    memcpy(s->gradient, s->b, sizeof *s->b * (size_t)s->row);
    for (int32_t m = 0; m < s->size; m++)
        subtract_multiple(s->gradient, s->theta[s->passive[m]], s->k + s->passive[m] * s->row, s->row);
}

/* Choose an initial P and its weights: each candidate that no nearer one in P rules out (the kernel
 * ratio interval).  Then remove those with negative weights until there are none. */
static void start(nnk_problem *s)
{
    double *reach = s->gradient; /* largest b_i K_ij over the i in P */
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

/* Return the candidate in this state with the largest gradient, or -1 if no gradient is larger than
 * a rounding error. */
static int32_t steepest(const nnk_problem *s, uint8_t state)
{
    int32_t best = -1;
    double largest = GRADIENT_NOISE;
    for (int32_t j = 0; j < s->n; j++)
        if (s->gradient[j] > largest && s->state[j] == state)
            largest = s->gradient[j], best = j;
    return best;
}

/* Move theta towards the unconstrained weights as far as none becomes negative; remove candidates
 * whose weights become 0 from P.  Return whether the unconstrained weights were reached. */
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

/* Let candidate j replace another one.  It is almost linearly dependent on P, K_Pj = K_PP c, but
 * would lower the objective: increase its weight and change the others by -c times as much until
 * one of them is 0, and remove that one from P.  Repeat until j can be added to P; return 0 if that
 * fails. */
static int exchange(nnk_problem *s, int32_t j)
{
    do {
        back_substitute(s, s->column); /* the c above, from what append left in s->column */
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

/* Add candidate j to P and solve again.  Return 0 if it cannot be added.  *gone is set if other
 * candidates leave P, after which blocked ones may be able to enter. */
static int enter(nnk_problem *s, int32_t j, int *gone)
{
    if (append(s, j)) {
        solve_passive(s);
        if (!(s->z[s->size - 1] > 0)) { /* its gradient was a rounding error */
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

/* Improve feasible weights to the optimal ones of all candidates that are not OUTSIDE.  The
 * gradient is up to date on return. */
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
            if (s->state[i] == BLOCKED) /* what it depends on may have left */
                s->state[i] = FREE;
    }
    update_gradient(s);
}

/* Empty P, set all weights to 0, and put all candidates into one state. */
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
