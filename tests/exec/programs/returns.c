// A library for probes.c.
float sdot_(void) { return 0.25f; }
int isamax_(void) { return 77; }
double _Complex zdotc_(void) { return 1.5 - 2.5 * 1.0i; }
float _Complex cdotc_(void) { return 3.5f - 4.5f * 1.0if; }
