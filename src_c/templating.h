/* One source per algorithm for all types: a template file is included once per
 * type with T, S (and F, FS for features of another type) defined. */
#ifndef NNK_TEMPLATING_H
#define NNK_TEMPLATING_H
#define CAT_(a, b) a##_##b
#define CAT(a, b) CAT_(a, b)
#define CAT3(a, b, c) CAT(CAT(a, b), c)
#endif
