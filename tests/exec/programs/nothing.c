// A program that calls nothing.
int main(void) { return 0; }
