/* The compiled core of nnk_image.neighbors: non-negative kernel regression (NNK) of
 * points on their candidates, plain C, no Python.
 *
 * Everything works on a range of queries [i0, i1) and writes only what
 * belongs to them, so that the caller may split the work as it likes.  The caller owns
 * every array named here.  Functions returning int may allocate scratch, which they
 * free; they return NNK_OK or NNK_NO_MEMORY.
 *
 * The problem of one query q with candidates S (NNK paper, eq. 6):
 *     theta = argmin_{theta >= 0} 1/2 theta' K_SS theta - (b - l1)' theta,  b = K_Sq
 *     error = 1/2 K_qq - b' theta + 1/2 theta' K_SS theta
 *
 * Index arrays named `void *` are int32, or int64 where `wide`.
 */
#ifndef NNK_NEIGHBORS_H
#define NNK_NEIGHBORS_H

#include <stdint.h>

enum { NNK_OK = 0, NNK_NO_MEMORY = 1 };

/* How candidates are weighed.
 *   EXACT             non-negative kernel regression
 *   ORTHOGONAL_PURSUIT, MATCHING_PURSUIT  the same problem, greedily
 *   NEAREST           weights are the similarities
 *   K_STAR            k*-nearest neighbours; the error is its lambda
 *   LOCAL_PURSUIT     local non-negative pursuit
 * The last two use distances only: kernels of centred rows go with them.
 */
enum { NNK_EXACT, NNK_ORTHOGONAL_PURSUIT, NNK_MATCHING_PURSUIT, NNK_NEAREST, NNK_K_STAR, NNK_LOCAL_PURSUIT };

/* What to solve for many queries.
 *   kind              place of the kernel in the table of kernels.h; degree, gamma and coef0
 *                     are of the polynomial one
 *   ratio             of Lipschitz constant and noise, for K_STAR
 *   points, queries   rows of n_features numbers, float if `single`, else double
 *   sigma             one per query
 *   self_similarity   K_qq of each query, read for given kernels only
 *   indptr, indices   candidates of query q: indices[indptr[q] .. indptr[q+1]); negative
 *                     ones are missing, repeated ones count once; at most n_neighbors
 *                     of them, the most similar, take part
 *   exclude_self      query i is point i, which is no candidate of its own
 *   share_duplicates  candidates equal to a chosen one take equal shares of its weight
 *   tol               weights below tol max(b), both scaled to K_jj = 1, are 0; NEAREST: unscaled
 */
typedef struct {
    int32_t method, kind, degree;
    double ratio, gamma, coef0;
    const void *points, *queries;
    int64_t n_features;
    int32_t single, wide, exclude_self, share_duplicates;
    const double *sigma, *self_similarity;
    const int64_t *indptr;
    const void *indices;
    int64_t n_neighbors;
    double l1, tol;
} nnk_task;

/* Where results go: for query q with n = count[q] candidates the rising point numbers
 * index[indptr[q] .. + n) and their weights, 0 for candidates that were not chosen.
 *   error      J of each query
 *   residual   how far the weights are from optimal: largest violation of the
 *              Karush-Kuhn-Tucker conditions over max(b)
 */
typedef struct {
    int32_t *count;
    void *index;
    double *weight, *error, *residual;
} nnk_solved;

/* Distances of queries to the candidates that take part, rising, then NaN; for kernels of
 * centred rows. */
typedef int nnk_distances(const nnk_task *, double *distance, int64_t i0, int64_t i1);
/* NNK weights of queries [i0, i1). */
typedef int nnk_solve_task(const nnk_task *, const nnk_solved *, int64_t i0, int64_t i1);
/* NNK weights of the problems [i0, i1) given as matrices k[n][n] and vectors b[n]. */
typedef int nnk_solve_given(const double *k, const double *b, int32_t n, double l1, double *theta, double *residual,
                            int64_t i0, int64_t i1);

/* The functions of one instruction set; results never differ.  kernel_name gives the names of
 * the kernels by their number, NULL beyond the last. */
typedef struct {
    const char *name;
    const char *(*kernel_name)(int32_t kind);
    nnk_distances *distances;
    nnk_solve_task *solve_task;
    nnk_solve_given *solve_given;
} nnk_neighbor_kernels;

/* The variants this machine can run, best last; the first is always there. */
int nnk_neighbor_variants(const nnk_neighbor_kernels *found[4]);

#endif
