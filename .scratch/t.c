struct s; typedef unsigned char u8;
int g[5]={1,2,3};
static int foo(int *p, u8 b) { 
  int loc[4]; 
  for (int i=0;i<b;i++) loc[i]=p[i];
  return loc[1]+g[b] * 3; }
void *t=(void*)foo;
