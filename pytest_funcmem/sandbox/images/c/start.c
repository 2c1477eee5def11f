/* The program that runs the runtime: everything is in the library, so that its names come before libc's. */
extern int fm_main(int argc, char **argv);
int main(int argc, char **argv) { return fm_main(argc, argv); }
