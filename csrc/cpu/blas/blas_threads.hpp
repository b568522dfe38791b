// The BLAS's own threads: how many a product of it has, and products with one thread each, for threads of ours that multiply at
// the same time. It is asked for by the setters of OpenBLAS (with threads of its own, or none) and of MKL.
#pragma once

namespace ozfp4 {

// From now on the BLAS is that of the library that `function` lies in, or of one that it was linked with. nullptr: none is known.
void find_blas_threads(const void* function);

// How many threads a product of the calling thread has by the BLAS's own settings; 0 where it is not known how to have it take
// one, and most_threads where it never takes more.
int blas_threads();

// While one of these lives, products that its thread asks of the BLAS have one thread each: of MKL those of that thread, of
// OpenBLAS all of the process. The last one to go restores what was set before, unless somebody set another number meanwhile.
// A child that was forked meanwhile restores it with its own last one. Does nothing where blas_threads() is 0.
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
