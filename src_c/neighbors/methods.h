/* Other methods to compute weights, for comparison with NNK. */
#ifndef NNK_METHODS_H
#define NNK_METHODS_H

#include "problem.h"

#define NEGLIGIBLE 1e-12 /* coefficients of unit vectors up to this size count as 0 */

/* Compute the gradient b - K theta for any theta. */
static void gradient_of_all(nnk_problem *s)
{
    memcpy(s->gradient, s->b, sizeof *s->b * (size_t)s->row);
    for (int32_t j = 0; j < s->n; j++)
        if (s->theta[j] != 0)
            subtract_multiple(s->gradient, s->theta[j], s->k + j * s->row, s->row);
}

/* Orthogonal matching pursuit (NNK paper, Algorithm 2): add the candidate with the largest
 * gradient, compute all weights again, and repeat. */
static void pursue_orthogonally(nnk_problem *s)
{
    clear(s, OUTSIDE);
    update_gradient(s);
    for (int32_t j; (j = steepest(s, OUTSIDE)) >= 0;) {
        s->state[j] = FREE;
        descend(s);
    }
}

/* Matching pursuit: the same, but the weights of earlier candidates do not change. */
static void pursue(nnk_problem *s)
{
    clear(s, OUTSIDE);
    update_gradient(s);
    for (int32_t j; (j = steepest(s, OUTSIDE)) >= 0;) {
        s->state[j] = FREE;
        s->theta[j] = s->gradient[j];
        subtract_multiple(s->gradient, s->theta[j], s->k + j * s->row, s->row);
    }
}

/* Use the similarities as weights. */
static void take_all(nnk_scratch *w)
{
    nnk_problem *s = &w->s;
    clear(s, OUTSIDE);
    for (int32_t j = 0; w->scale > 0 && j < s->n; j++)
        s->theta[j] = w->similarity[j] > 0 ? w->similarity[j] * w->root[j] / w->scale : 0;
    gradient_of_all(s);
}

/* k*-nearest neighbors (Anava and Levy, Algorithm 1), with beta_j = ratio |a_j|.  Return lambda,
 * which bounds the error if multiplied by their C.  The beta of the nearest candidate is subtracted
 * from all: this changes no weight, and avoids cancellation between squares of large betas. */
static double weigh_by_distance(nnk_scratch *w, double ratio)
{
    nnk_problem *s = &w->s;
    if (s->n == 0)
        return 0;
    const double nearest = ratio * sqrt(w->square[0]);
    double sum = 0, squares = 0, lambda = 1, total = 0;
    for (int32_t k = 1; k <= s->n; k++) {
        const double beta = ratio * sqrt(w->square[k - 1]) - nearest;
        if (!(lambda > beta))
            break;
        sum += beta, squares += beta * beta;
        const double inside = k + sum * sum - k * squares;
        lambda = (sum + sqrt(inside > 0 ? inside : 0)) / k;
    }
    for (int32_t j = 0; j < s->n; j++) {
        const double rest = lambda - (ratio * sqrt(w->square[j]) - nearest);
        s->theta[j] = rest > 0 ? rest : 0;
        total += s->theta[j];
    }
    for (int32_t j = 0; total > 0 && j < s->n; j++)
        s->theta[j] /= total;
    return nearest + lambda;
}

/* Return whether all coefficients of a_j, projected onto the span of P, are negative. */
static int opposes(nnk_problem *s, int32_t j)
{
    if (!append(s, j))
        return 0;
    delete(s, s->size - 1);
    back_substitute(s, s->column);
    for (int32_t m = 0; m < s->size; m++)
        if (!(s->z[m] < -NEGLIGIBLE))
            return 0;
    return 1;
}

/* Local non-negative pursuit (Chen, Lv and Yi, Algorithm 1): choose candidates, the nearest first,
 * that oppose all those chosen before.  The weights sum to 1 and reconstruct the query best.  On
 * entry s->k holds the products a_i.a_j.  Return half the squared distance between query and
 * reconstruction. */
static double pursue_locally(nnk_scratch *w)
{
    nnk_problem *s = &w->s;
    clear(s, FREE);
    if (s->n == 0)
        return 0;
    if (!(w->square[0] > 0)) { /* the nearest candidate is the query itself */
        s->theta[0] = 1;
        return 0;
    }
    for (int32_t j = 0; j < s->n; j++)
        s->b[j] = 1 / sqrt(w->square[j]);
    for (int32_t i = 0; i < s->n; i++)
        for (int32_t j = 0; j < s->n; j++)
            s->k[i * s->row + j] = i == j ? 1 : s->k[i * s->row + j] * s->b[i] * s->b[j];
    append(s, 0);
    for (int32_t j = 1; j < s->n;) {
        const int chosen = s->state[j] == FREE && opposes(s, j) && append(s, j);
        j = chosen ? 1 : j + 1; /* start over: others may oppose now */
    }
    solve_passive(s);
    double total = 0;
    for (int32_t m = 0; m < s->size; m++) {
        const double x = s->z[m] * s->b[s->passive[m]];
        s->theta[s->passive[m]] = x > 0 ? x : 0;
        total += s->theta[s->passive[m]];
    }
    for (int32_t j = 0; total > 0 && j < s->n; j++)
        s->theta[j] /= total;
    return total > 0 ? 0.5 / total : 0;
}

#endif
