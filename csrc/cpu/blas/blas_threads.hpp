// The BLAS's own threads: how many a product of it has, and products with one thread each, for threads of ours that multiply at
// the same time. It is asked for by the setters of OpenBLAS (with threads of its own, or none), of MKL and of BLIS.
#pragma once

#include <cstdint>

namespace ozfp4 {

// What the library has: OpenBLAS, and BLIS before 1.0, both of the first; MKL and later ones of BLIS the first and the third;
// none of them where it has no threads.
struct BlasSetters {
  // BLIS has numbers of its own type, of 32 or 64 bits, which either reads of 64 and of which the lower half is read here. -1
  // where nobody has said one.
  using BlisGetter = std::int64_t (*)();
  using BlisSetter = void (*)(std::int64_t);

  int (*get)() = nullptr;
  void (*set)(int) = nullptr;
  int (*set_local)(int) = nullptr;
  bool is_sequential = false;
  BlisGetter blis_get = nullptr;  // where it is BLIS, by which the others work
  BlisSetter blis_set = nullptr;
};

// Of the library that `function` lies in, or of one that it was linked with. nullptr: none is known. Asks the dynamic linker,
// whose lock somebody may hold who waits for the caller's; and BLIS, once, by a short-lived thread, whose number it sets.
BlasSetters find_blas_setters(const void* function);
// From now on the BLAS has these. Range: no OneBlasThread lives.
void set_blas_setters(const BlasSetters& found);

// How many threads a product of the calling thread has by the BLAS's own settings; 0 where it is not known how to have it take
// one, and most_threads where it never takes more, or nobody has told BLIS a number.
int blas_threads();

// While one of these lives, products that its thread asks of the BLAS have one thread each: of MKL those of that thread, of
// OpenBLAS all of the process, of BLIS either. The last one to go restores what was set before, unless somebody set another
// number meanwhile. A child that was forked meanwhile restores it with its own last one. Does nothing where blas_threads() is 0.
class OneBlasThread {
 public:
  OneBlasThread();
  ~OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;

 private:
  int earlier_ = 0;
};

}  // namespace ozfp4
