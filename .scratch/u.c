struct fm_probe {int x;}; int foo(struct fm_probe, struct fm_probe); extern int zed;
struct node;
int f(char *a, struct node *n) { int k = foo(a, 3+n->q); bar(2); char *z = bar(1); return undefd + k; }
