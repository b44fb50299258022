/* The compiled core of nnk_image.neighbors: non-negative kernel regression (NNK) of queries on
 * their candidates.  It is plain C that does not use Python.
 *
 * All functions take a range of queries [i0, i1) and write only the results of these, so that the
 * caller can split the work as it likes.  The caller allocates and frees all arrays that it passes.
 * Functions may allocate scratch memory and free it again; they return NNK_OK or NNK_NO_MEMORY.
 *
 * The problem of a query q with candidates S is (NNK paper, eq. 6)
 *     theta = argmin_{theta >= 0} 1/2 theta' K_SS theta - (b - l1)' theta,  b = K_Sq,
 *     error = 1/2 K_qq - b' theta + 1/2 theta' K_SS theta.
 *
 * Arrays of indices that are declared as void * are int64 if `wide`, else int32.
 */
#ifndef NNK_NEIGHBORS_H
#define NNK_NEIGHBORS_H

#include <stdint.h>

enum { NNK_OK = 0, NNK_NO_MEMORY = 1 };

/* Methods to compute the weights of candidates.
 *   EXACT               non-negative kernel regression
 *   ORTHOGONAL_PURSUIT  the same problem, solved by orthogonal matching pursuit
 *   MATCHING_PURSUIT    the same problem, solved approximately by matching pursuit
 *   NEAREST             the weights are the similarities
 *   K_STAR              k*-nearest neighbors; the error is lambda
 *   LOCAL_PURSUIT       local non-negative pursuit
 * The last two use distances only, and need a kernel with centered rows (kernels.h).
 */
enum { NNK_EXACT, NNK_ORTHOGONAL_PURSUIT, NNK_MATCHING_PURSUIT, NNK_NEAREST, NNK_K_STAR, NNK_LOCAL_PURSUIT };

/* The problems of many queries.
 *   method            see above
 *   kind              index of the kernel in the table of kernels.h
 *   degree, gamma, coef0   parameters of the polynomial kernel
 *   ratio             Lipschitz constant over noise, for K_STAR
 *   points, queries   rows of n_features numbers: float if `single`, else double
 *   sigma             [queries]: width of the kernel, read for 'gaussian' and 'laplacian' only
 *   self_similarity   [queries]: K_qq, read for 'precomputed' only
 *   indptr, indices   the candidates of query q are indices[indptr[q] .. indptr[q + 1]).  Negative
 *                     ones are ignored, and repeated ones count once
 *   n_neighbors       only the n_neighbors most similar candidates of a query are used
 *   exclude_self      query i is point i, and not a candidate of its own
 *   share_duplicates  the weight of a candidate is divided equally among it and all candidates
 *                     equal to it; otherwise the first one gets it
 *   l1                penalty of the sum of the weights
 *   tol               weights below tol max(b) are set to 0.  Both sides are first scaled such that
 *                     K_jj = 1, except for NEAREST.  K_STAR and LOCAL_PURSUIT ignore it
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

/* Results.  For query q with n = count[q] candidates, index[indptr[q] .. indptr[q] + n) are the
 * numbers of the points in ascending order, and `weight` holds their weights at the same positions:
 * 0 for candidates that are not neighbors.
 *   error      [queries]: error of the problem, or what the method gives instead
 *   residual   [queries]: largest violation of the Karush-Kuhn-Tucker conditions, relative to
 *              max(b); 0 for methods other than EXACT and ORTHOGONAL_PURSUIT
 */
typedef struct {
    int32_t *count;
    void *index;
    double *weight, *error, *residual;
} nnk_solved;

/* Write the distances of queries to their candidates, in ascending order, to distance[indptr[q] ..
 * indptr[q + 1]).  NaN stands at the end for each candidate that is not used.  The kernel must have
 * centered rows. */
typedef int nnk_distances(const nnk_task *, double *distance, int64_t i0, int64_t i1);

/* Compute the weights of queries [i0, i1). */
typedef int nnk_solve_task(const nnk_task *, const nnk_solved *, int64_t i0, int64_t i1);

/* Compute the NNK weights theta[n] of problems [i0, i1) that are given as matrices k[n][n] and
 * vectors b[n], stored one after the other. */
typedef int nnk_solve_given(const double *k, const double *b, int32_t n, double l1, double *theta, double *residual,
                            int64_t i0, int64_t i1);

/* The functions of one instruction set (variant); all give the same results.  kernel_name returns
 * the name of the kernel with a number, or NULL if there is none. */
typedef struct {
    const char *name;
    const char *(*kernel_name)(int32_t kind);
    nnk_distances *distances;
    nnk_solve_task *solve_task;
    nnk_solve_given *solve_given;
} nnk_neighbor_kernels;

/* Write pointers to the tables that this machine can run to `found`, the fastest last, and return
 * how many there are.  The first one, for the baseline of the architecture, always exists. */
int nnk_neighbor_variants(const nnk_neighbor_kernels *found[4]);

#endif
