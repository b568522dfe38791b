// A library whose constructor, with the dynamic linker's lock, makes a product (opens.c).
extern volatile int is_in_constructor;
extern double call(void);
__attribute__((constructor)) static void multiply(void) {
  is_in_constructor = 1;
  if (call() != 8) __builtin_trap();
}
