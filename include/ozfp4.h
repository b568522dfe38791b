/* ozfp4: FP64 matrix products by exact integer ones on low-precision matrix units, from C, C++, Fortran and whatever calls C.
 *
 *   double alpha = 1, beta = 0;
 *   ozfp4_status status = ozfp4_dgemm(OZFP4_COL_MAJOR, OZFP4_NO_TRANS, OZFP4_TRANS, m, n, k, alpha, a, lda, b, ldb, beta,
 *                                     c, ldc, NULL);
 *   if (status != OZFP4_OK) fprintf(stderr, "%s\n", ozfp4_last_error());
 *
 * Arguments are those of CBLAS, and order and transposes have its values; extents, leading dimensions and strides are 64-bit
 * and count entries. What BLAS does not have stands in ozfp4_options: NULL, or all zeros behind `size`, is the default of
 * ozfp4.matmul in Python, whose bits these functions give: accuracy "standard", each entry within the error bound of a chain of
 * fused multiply-adds in its own precision. A beta of 0 does not read C, an alpha of 0 reads neither A nor B. C overlaps neither;
 * everything else may be read by several threads at once. alpha and beta are finite.
 * The calling thread's floating-point mode (rounding, subnormal numbers flushed to 0, traps) changes no bit and stays as it is.
 *
 * Every function that can fail returns a status and keeps a text for ozfp4_last_error, of this thread, which begins with the name
 * of the argument that is at fault. Nothing is then written, unless memory ends amid a batch or a product that goes in blocks. No
 * exception leaves the library, and it never ends the process.
 *
 * Small products are made in machine words, or by limbs of eight bits on AMX. Planes of others are multiplied by the CPU's INT8
 * unit, or where there is none in floating point. Each kernel is tested on exact integers before its first use.
 *
 * Structures begin with `size`, their sizeof where the program was compiled: later versions add members at the end, and take
 * those that are not there as 0.
 */
#ifndef OZFP4_H
#define OZFP4_H

#include <stddef.h>
#include <stdint.h>

#define OZFP4_VERSION_MAJOR 0
#define OZFP4_VERSION_MINOR 1
#define OZFP4_VERSION_PATCH 0
#define OZFP4_VERSION (OZFP4_VERSION_MAJOR * 10000 + OZFP4_VERSION_MINOR * 100 + OZFP4_VERSION_PATCH)

#if defined(__GNUC__)
#define OZFP4_API __attribute__((visibility("default")))
#else
#define OZFP4_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Statuses -------------------------------------------------------------------------------------------------------- */

typedef enum ozfp4_status {
  OZFP4_OK = 0,
  OZFP4_INVALID_ARGUMENT = 1, /* an argument that no product takes, or two that contradict each other */
  OZFP4_UNSUPPORTED = 2,      /* no plan is exact for the inner dimension; what this interface does not do */
  OZFP4_OUT_OF_MEMORY = 3,    /* the system, or the device, has no such memory */
  OZFP4_WORKSPACE = 4,        /* the workspace is too small for the smallest blocks */
  OZFP4_OVERFLOW = 5,         /* an entry does not fit the integer type of the result, and that was to be an error */
  OZFP4_NO_DEVICE = 6,        /* a build without CUDA, no GPU, or none of the kernels of this build runs on it */
  OZFP4_DEVICE_ERROR = 7,     /* what the CUDA runtime says */
  OZFP4_INTERNAL = 8          /* a fault of this library */
} ozfp4_status;

/* The name of a status, e.g. "OZFP4_WORKSPACE". */
OZFP4_API const char* ozfp4_status_name(ozfp4_status status);
/* What the last call of this thread that failed had to say, until the next one fails; "" before. */
OZFP4_API const char* ozfp4_last_error(void);

/* ---- The library ----------------------------------------------------------------------------------------------------- */

/* OZFP4_VERSION of the library that runs, and as "0.1.0". Programs run with every later one of the same major number. */
OZFP4_API int ozfp4_version(void);
OZFP4_API const char* ozfp4_version_string(void);

/* Reads OZFP4_NUM_THREADS, OMP_NUM_THREADS, OZFP4_CPU_KERNEL and those of the self-test again: OZFP4_CACHE_DIR, OZFP4_SELFTEST,
 * OZFP4_SELFTEST_SECONDS; and the figures that `ozfp4 calibrate` has kept. The library reads them when it is loaded, and never by
 * itself afterwards. Not while another thread changes the environment. */
OZFP4_API ozfp4_status ozfp4_read_environment(void);
/* Threads of products on the CPU: by default OZFP4_NUM_THREADS, OMP_NUM_THREADS, or all CPUs of the process. 0 is the default. */
OZFP4_API ozfp4_status ozfp4_set_num_threads(int count);
OZFP4_API ozfp4_status ozfp4_get_num_threads(int* count);

/* 1 where this build has kernels for GPUs, else 0. */
OZFP4_API int ozfp4_has_cuda(void);

/* ---- What a product is asked for ------------------------------------------------------------------------------------- */

/* Values of CBLAS. */
typedef enum ozfp4_order { OZFP4_ROW_MAJOR = 101, OZFP4_COL_MAJOR = 102 } ozfp4_order;
typedef enum ozfp4_transpose { OZFP4_NO_TRANS = 111, OZFP4_TRANS = 112, OZFP4_CONJ_TRANS = 113 } ozfp4_transpose;

typedef enum ozfp4_side { OZFP4_LEFT = 141, OZFP4_RIGHT = 142 } ozfp4_side;

typedef enum ozfp4_type {
  OZFP4_FLOAT64 = 1,
  OZFP4_FLOAT32 = 2,
  OZFP4_COMPLEX128 = 3,
  OZFP4_COMPLEX64 = 4,
  OZFP4_INT8 = 5,
  OZFP4_INT16 = 6,
  OZFP4_INT32 = 7,
  OZFP4_INT64 = 8,
  OZFP4_UINT8 = 9,
  OZFP4_UINT16 = 10,
  OZFP4_UINT32 = 11,
  OZFP4_UINT64 = 12
} ozfp4_type;

enum {                              /* accuracy */
       OZFP4_ACCURACY_DEFAULT = 0,  /* standard; of a prepared operand its own */
       OZFP4_ACCURACY_SCALED = 1,   /* the exact product of rows and columns rounded to `bits` bits */
       OZFP4_ACCURACY_STANDARD = 2, /* |C - AB| <= (n - 1) u (|A| |B|) and half a unit in the last place, entry by entry, n the
                                     * fewer nonzero entries of row and column: what a chain of fused multiply-adds promises */
       OZFP4_ACCURACY_CORRECT = 3   /* the real result, rounded once */
};
enum { OZFP4_ROUND_NEAREST = 0, OZFP4_ROUND_DOWN = 1, OZFP4_ROUND_UP = 2, OZFP4_ROUND_ZERO = 3 };
enum { OZFP4_SCHEME_DEFAULT = 0, OZFP4_SCHEME_I = 1, OZFP4_SCHEME_II = 2 };
enum { OZFP4_BACKEND_AUTO = 0, OZFP4_BACKEND_FP4 = 1, OZFP4_BACKEND_INT8 = 2, OZFP4_BACKEND_FP64 = 3 };
enum { OZFP4_FAMILY_LEAST = 0, OZFP4_FAMILY_PAPER = 1, OZFP4_FAMILY_PAPER_KARATSUBA = 2 };
enum { OZFP4_OVERFLOW_WRAP = 0, OZFP4_OVERFLOW_ERROR = 1 };

typedef struct ozfp4_plan ozfp4_plan;
typedef struct ozfp4_prepared ozfp4_prepared;
typedef struct ozfp4_cuda_prepared ozfp4_cuda_prepared;

/* What ran. Where matrices of a stack, or blocks, were made in different ways, backend to moduli_used are of those by planes. */
typedef struct ozfp4_report {
  size_t size;
  int32_t backend;                       /* OZFP4_BACKEND_FP4, _INT8 or _FP64; 0: machine words, or nothing was multiplied */
  int32_t scheme;                        /* OZFP4_SCHEME_I or _II; 0 likewise */
  int32_t bits;                          /* capacity of the plan, or width of the words */
  int32_t products;                      /* plane products of a matrix, the most */
  int32_t moduli_used;                   /* 0 for scheme I */
  int32_t reserved;                      /* 0 */
  int64_t workspace;                     /* bytes beside operands and result */
  int64_t repaired;                      /* entries made from their row and column alone, as nothing certified them */
  int64_t special_rows, special_columns; /* with NaN or infinity */
  int64_t overflows;    /* of integers: entries that wrapped, where OZFP4_OVERFLOW_ERROR or a report asked for them */
  double largest_bound; /* where bounds were asked for */
  double seconds_scale, seconds_encode, seconds_multiply, seconds_reconstruct, seconds_repair;
} ozfp4_report;

typedef struct ozfp4_options {
  size_t size;
  int32_t accuracy, rounding;      /* rounding other than to nearest is of OZFP4_ACCURACY_CORRECT */
  int32_t scheme, backend, family; /* a family other than OZFP4_FAMILY_LEAST is of OZFP4_ACCURACY_SCALED */
  int32_t bits;                    /* capacity of OZFP4_ACCURACY_SCALED, 2 to 200; 0: 53, or 24 of single precision */
  int32_t overflow;                /* of integers */
  int32_t reserved;                /* 0 */
  int64_t workspace_limit;         /* bytes beside operands and result, which the CPU takes and gives back itself; 0: 2^30, on */
                                   /* a GPU the less of 2^33 and a quarter of its memory, or what the smallest blocks need */
  const ozfp4_plan* plan; /* in place of scheme, backend, family and bits; of all bits that the accuracy takes; NULL: cheapest */
  double* bound;          /* where bounds of |C - exact| go, in the order of C; of complex results pairs; NULL: nowhere */
  int64_t ld_bound;       /* entries of C from line to line of it; 0: without a gap */
  int64_t stride_bound;   /* and from matrix to matrix; 0: without a gap */
  ozfp4_report* report;   /* NULL: nobody asks */
  /* Of ozfp4_cuda_?gemm, its batches, ozfp4_cuda_gemm_prepared and ozfp4_cuda_?gram, where what happened is known once it has
   * run: */
  /* In memory that the device can write: how many entries nothing certified; exact zeros are among them, and a complex entry is
   * two. NULL: nobody asks. */
  int64_t* repaired;
  /* Of integers on a GPU, likewise: how many entries do not fit the type of C, which hold what wraps. For alpha = 1 and beta = 0,
   * and not modulo a number. NULL: nobody asks. */
  int64_t* overflows;
} ozfp4_options;

#define OZFP4_OPTIONS_INIT {sizeof(ozfp4_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0, NULL, NULL, NULL}

/* ---- C = alpha op(A) op(B) + beta C ---------------------------------------------------------------------------------- */

/* op(A) is m x k, op(B) k x n, C m x n. alpha A B + beta C is rounded once; where a complex
 * alpha or beta has a real and an imaginary part, A B is rounded first, and then alpha (A B) + beta C once more
 * (OZFP4_ACCURACY_CORRECT keeps A B as the sum of two numbers, at most u^2 of it away), to nearest. Complex
 * matrices are (re, im) pairs: double complex of C, std::complex<double>, complex(c_double_complex); alpha and beta point to
 * such. */
OZFP4_API ozfp4_status ozfp4_dgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha,
                                   const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
                                   int64_t ldc, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_sgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                                   const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c, int64_t ldc,
                                   const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_zgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                   const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc,
                                   const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                   const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta, void* c, int64_t ldc,
                                   const ozfp4_options* options);

/* `batch` products, whose matrices lie `stride` entries apart; a stride of 0 of A or B repeats one matrix. */
OZFP4_API ozfp4_status ozfp4_dgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                   double alpha, const double* a, int64_t lda, int64_t stride_a, const double* b,
                                                   int64_t ldb, int64_t stride_b, double beta, double* c, int64_t ldc,
                                                   int64_t stride_c, int64_t batch, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_sgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                   float alpha, const float* a, int64_t lda, int64_t stride_a, const float* b,
                                                   int64_t ldb, int64_t stride_b, float beta, float* c, int64_t ldc,
                                                   int64_t stride_c, int64_t batch, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_zgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                   const void* alpha, const void* a, int64_t lda, int64_t stride_a, const void* b,
                                                   int64_t ldb, int64_t stride_b, const void* beta, void* c, int64_t ldc,
                                                   int64_t stride_c, int64_t batch, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                   const void* alpha, const void* a, int64_t lda, int64_t stride_a, const void* b,
                                                   int64_t ldb, int64_t stride_b, const void* beta, void* c, int64_t ldc,
                                                   int64_t stride_c, int64_t batch, const ozfp4_options* options);

/* ---- C = A A^T, or A^T A ----------------------------------------------------------------------------------------------- */

/* All of C, n x n, exactly symmetric, at about half of a product's time. OZFP4_NO_TRANS: A is n x k, and C = A A^T; OZFP4_TRANS:
 * A is k x n, and C = A^T A. Complex matrices take OZFP4_CONJ_TRANS in place of OZFP4_TRANS, adjoints, and C is exactly
 * Hermitian.
 */
OZFP4_API ozfp4_status ozfp4_dgram(int order, int trans, int64_t n, int64_t k, const double* a, int64_t lda, double* c,
                                   int64_t ldc, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_sgram(int order, int trans, int64_t n, int64_t k, const float* a, int64_t lda, float* c, int64_t ldc,
                                   const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_zgram(int order, int trans, int64_t n, int64_t k, const void* a, int64_t lda, void* c, int64_t ldc,
                                   const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cgram(int order, int trans, int64_t n, int64_t k, const void* a, int64_t lda, void* c, int64_t ldc,
                                   const ozfp4_options* options);

/* ---- Integers ----------------------------------------------------------------------------------------------------------- */

/* alpha op(A) op(B) + beta C of integers, exact modulo 2^w of the w bits of the type of C. OZFP4_OVERFLOW_ERROR makes it an
 * error, and leaves C, where an entry does not fit; it is for alpha = 1 and beta = 0. Options that speak of bits and of rounding
 * are refused. */
OZFP4_API ozfp4_status ozfp4_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                   ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb,
                                   int64_t beta, ozfp4_type type_c, void* c, int64_t ldc, const ozfp4_options* options);
/* The same of these types. */
OZFP4_API ozfp4_status ozfp4_gemm_i8i8i32(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int32_t alpha,
                                          const int8_t* a, int64_t lda, const int8_t* b, int64_t ldb, int32_t beta, int32_t* c,
                                          int64_t ldc, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_gemm_i32i32i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                            const int32_t* a, int64_t lda, const int32_t* b, int64_t ldb, int64_t beta,
                                            int64_t* c, int64_t ldc, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_gemm_i64i64i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                            const int64_t* a, int64_t lda, const int64_t* b, int64_t ldb, int64_t beta,
                                            int64_t* c, int64_t ldc, const ozfp4_options* options);
/* op(A) op(B) modulo `modulus`, 1 to 2^63 - 1, every entry in [0, modulus). */
OZFP4_API ozfp4_status ozfp4_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, ozfp4_type type_a,
                                      const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb, int64_t modulus,
                                      int64_t* c, int64_t ldc, const ozfp4_options* options);

/* ---- Operands that are prepared once ------------------------------------------------------------------------------------- */

/* op(X), rows x columns, scaled and encoded once for any number of products on that side. X is copied, and may change afterwards.
 * `type` is that of X and of the products; of the options accuracy, scheme, backend, family, bits and plan count. */
OZFP4_API ozfp4_status ozfp4_prepare(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns,
                                     const void* x, int64_t ldx, const ozfp4_options* options, ozfp4_prepared** prepared);
/* NULL is nothing. Not beside a product that uses it. */
OZFP4_API void ozfp4_release(ozfp4_prepared* prepared);
/* Bytes that it takes. */
OZFP4_API int64_t ozfp4_prepared_bytes(const ozfp4_prepared* prepared);
/* C = alpha A B + beta C where prepared_a stands for op(A), or prepared_b for op(B), or both, and the other is NULL: then that
 * operand is read from memory, else its pointer, transpose and leading dimension are not looked at. alpha and beta point to one
 * entry of the type; alpha is not imaginary where both are prepared. Options that say otherwise than those of ozfp4_prepare are
 * an error; defaults agree. */
OZFP4_API ozfp4_status ozfp4_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                           const void* a, int64_t lda, const ozfp4_prepared* prepared_a, const void* b,
                                           int64_t ldb, const ozfp4_prepared* prepared_b, const void* beta, void* c, int64_t ldc,
                                           const ozfp4_options* options);

/* ---- Plans ----------------------------------------------------------------------------------------------------------------- */

typedef struct ozfp4_plan_info {
  size_t size;
  int32_t scheme, backend, family, bits;
  int32_t products, planes; /* plane products; planes of each operand */
  int32_t moduli;           /* how many; 0 for scheme I */
  int32_t is_complex;       /* 1: of two complex operands, k counts 2 for each entry */
  int64_t k_max;            /* longest inner dimension for which it is exact whatever the data */
} ozfp4_plan_info;

/* The plan by which a product of this type (floating-point) and inner dimension runs with these options, unless it is so small
 * that machine words make the same bits sooner. Immutable; any number of threads and products may use it. */
OZFP4_API ozfp4_status ozfp4_plan_create(ozfp4_type type, int64_t k, const ozfp4_options* options, ozfp4_plan** plan);
/* NULL is nothing. Not beside a product that uses it. */
OZFP4_API void ozfp4_plan_destroy(ozfp4_plan* plan);
OZFP4_API ozfp4_status ozfp4_plan_describe(const ozfp4_plan* plan, ozfp4_plan_info* info);
/* The moduli in their order, `count` at most, of which there are ozfp4_plan_info.moduli. */
OZFP4_API ozfp4_status ozfp4_plan_moduli(const ozfp4_plan* plan, int64_t* moduli, int32_t count);

/* ---- CUDA --------------------------------------------------------------------------------------------------------------------
 */

/* As above, of matrices on the current device, on a stream (a cudaStream_t; NULL: the default one): the call returns when the
 * work is enqueued, nothing waits for the device but the first product of a kernel or by a long schedule there, where kernels are
 * tried on exact integers, and no memory is allocated. `report` and OZFP4_BACKEND_FP64 are refused; bounds lie on the device.
 *
 * `workspace`, aligned to 256 bytes, belongs to the product until the stream has passed it; NULL is one of 0 bytes. The function
 * before each kind of product says how large it has to be, of the arguments of the call: options and, on the host, factors are
 * read; of addresses it counts what they are modulo 16, and NULL is 0. Calls that differ in addresses that are equal modulo 16,
 * or in factors that are alike in being 0, 1, real, imaginary or neither, take as much.
 *
 * Run a call once before a CUDA graph captures it. Whatever may try kernels, first products and functions that say a
 * size, allocates, on a stream of its own: graphs that are captured on other streams meanwhile, by any thread, go on.
 * A build without CUDA has these functions, too: they convert their arguments, and return OZFP4_NO_DEVICE. */
/* `type` is that of the matrices; alpha and beta point to one entry of it. */
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_gemm(ozfp4_type type, int order, int transa, int transb, int64_t m, int64_t n,
                                                      int64_t k, const void* alpha, const void* a, int64_t lda, const void* b,
                                                      int64_t ldb, const void* beta, const void* c, int64_t ldc,
                                                      const ozfp4_options* options, int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_dgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, double alpha,
                                        const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_sgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, float alpha,
                                        const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_zgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                        const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta, void* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_cgemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, const void* alpha,
                                        const void* a, int64_t lda, const void* b, int64_t ldb, const void* beta, void* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);

/* The batch in as few launches as a single product has; matrices of C do not overlap. */
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_gemm_strided_batched(ozfp4_type type, int order, int transa, int transb,
                                                                      int64_t m, int64_t n, int64_t k, const void* alpha,
                                                                      const void* a, int64_t lda, int64_t stride_a, const void* b,
                                                                      int64_t ldb, int64_t stride_b, const void* beta,
                                                                      const void* c, int64_t ldc, int64_t stride_c, int64_t batch,
                                                                      const ozfp4_options* options, int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_dgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                        double alpha, const double* a, int64_t lda, int64_t stride_a,
                                                        const double* b, int64_t ldb, int64_t stride_b, double beta, double* c,
                                                        int64_t ldc, int64_t stride_c, int64_t batch, void* workspace,
                                                        int64_t workspace_bytes, void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_sgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                        float alpha, const float* a, int64_t lda, int64_t stride_a,
                                                        const float* b, int64_t ldb, int64_t stride_b, float beta, float* c,
                                                        int64_t ldc, int64_t stride_c, int64_t batch, void* workspace,
                                                        int64_t workspace_bytes, void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_zgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                        const void* alpha, const void* a, int64_t lda, int64_t stride_a,
                                                        const void* b, int64_t ldb, int64_t stride_b, const void* beta, void* c,
                                                        int64_t ldc, int64_t stride_c, int64_t batch, void* workspace,
                                                        int64_t workspace_bytes, void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_cgemm_strided_batched(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                        const void* alpha, const void* a, int64_t lda, int64_t stride_a,
                                                        const void* b, int64_t ldb, int64_t stride_b, const void* beta, void* c,
                                                        int64_t ldc, int64_t stride_c, int64_t batch, void* workspace,
                                                        int64_t workspace_bytes, void* stream, const ozfp4_options* options);

/* As ozfp4_dgram. Blocks on and above the diagonal are multiplied where n is 6144 or more, else all of C; repaired entries are
 * those of what is multiplied. For a real A the workspace holds the planes of all lines for all blocks where
 * options.workspace_limit is 0 and its default has room for them, else those of some lines at a time. */
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_gram(ozfp4_type type, int order, int trans, int64_t n, int64_t k, const void* a,
                                                      int64_t lda, const void* c, int64_t ldc, const ozfp4_options* options,
                                                      int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_dgram(int order, int trans, int64_t n, int64_t k, const double* a, int64_t lda, double* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_sgram(int order, int trans, int64_t n, int64_t k, const float* a, int64_t lda, float* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_zgram(int order, int trans, int64_t n, int64_t k, const void* a, int64_t lda, void* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_cgram(int order, int trans, int64_t n, int64_t k, const void* a, int64_t lda, void* c,
                                        int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                        const ozfp4_options* options);

/* As ozfp4_igemm and its like: integers of every type, on the kernels that multiply floating-point matrices.
 * OZFP4_OVERFLOW_ERROR, which would wait for the device, and OZFP4_SCHEME_I are refused; options.overflows tells how many entries
 * did not fit. */
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                       int64_t alpha, ozfp4_type type_a, const void* a, int64_t lda,
                                                       ozfp4_type type_b, const void* b, int64_t ldb, int64_t beta,
                                                       ozfp4_type type_c, const void* c, int64_t ldc,
                                                       const ozfp4_options* options, int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_igemm(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int64_t alpha,
                                        ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b, const void* b,
                                        int64_t ldb, int64_t beta, ozfp4_type type_c, void* c, int64_t ldc, void* workspace,
                                        int64_t workspace_bytes, void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_gemm_i8i8i32(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, int32_t alpha,
                                               const int8_t* a, int64_t lda, const int8_t* b, int64_t ldb, int32_t beta,
                                               int32_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes, void* stream,
                                               const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_gemm_i32i32i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                 int64_t alpha, const int32_t* a, int64_t lda, const int32_t* b, int64_t ldb,
                                                 int64_t beta, int64_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes,
                                                 void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_gemm_i64i64i64(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                 int64_t alpha, const int64_t* a, int64_t lda, const int64_t* b, int64_t ldb,
                                                 int64_t beta, int64_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes,
                                                 void* stream, const ozfp4_options* options);
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                          ozfp4_type type_a, const void* a, int64_t lda, ozfp4_type type_b,
                                                          const void* b, int64_t ldb, int64_t modulus, const int64_t* c,
                                                          int64_t ldc, const ozfp4_options* options, int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_gemm_mod(int order, int transa, int transb, int64_t m, int64_t n, int64_t k, ozfp4_type type_a,
                                           const void* a, int64_t lda, ozfp4_type type_b, const void* b, int64_t ldb,
                                           int64_t modulus, int64_t* c, int64_t ldc, void* workspace, int64_t workspace_bytes,
                                           void* stream, const ozfp4_options* options);

/* As ozfp4_prepare, of a matrix on the device and on a stream, in `memory` of the caller, aligned to 256 bytes and as large as
 * the first function says of the same arguments: X is copied, scaled and encoded there. The memory belongs to the operand until
 * it is released and every stream has passed the products that use it; products on another stream than this one begin behind an
 * event of it. */
OZFP4_API ozfp4_status ozfp4_cuda_prepared_size(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows,
                                                int64_t columns, const void* x, int64_t ldx, const ozfp4_options* options,
                                                int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_prepare(ozfp4_type type, ozfp4_side side, int order, int trans, int64_t rows, int64_t columns,
                                          const void* x, int64_t ldx, void* memory, int64_t memory_bytes, void* stream,
                                          const ozfp4_options* options, ozfp4_cuda_prepared** prepared);
/* Gives back what the host has of it; its memory is the caller's. NULL is nothing. Not beside a call that uses it. */
OZFP4_API void ozfp4_cuda_release(ozfp4_cuda_prepared* prepared);
/* As ozfp4_gemm_prepared. */
OZFP4_API ozfp4_status ozfp4_cuda_workspace_size_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                               const void* alpha, const void* a, int64_t lda,
                                                               const ozfp4_cuda_prepared* prepared_a, const void* b, int64_t ldb,
                                                               const ozfp4_cuda_prepared* prepared_b, const void* beta,
                                                               const void* c, int64_t ldc, const ozfp4_options* options,
                                                               int64_t* bytes);
OZFP4_API ozfp4_status ozfp4_cuda_gemm_prepared(int order, int transa, int transb, int64_t m, int64_t n, int64_t k,
                                                const void* alpha, const void* a, int64_t lda,
                                                const ozfp4_cuda_prepared* prepared_a, const void* b, int64_t ldb,
                                                const ozfp4_cuda_prepared* prepared_b, const void* beta, void* c, int64_t ldc,
                                                void* workspace, int64_t workspace_bytes, void* stream,
                                                const ozfp4_options* options);

#ifdef __cplusplus
}
#endif

#endif /* OZFP4_H */
