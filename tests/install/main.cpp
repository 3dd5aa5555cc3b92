// A host that is not part of Troupe: shows that the installed package can be found, compiled
// against and linked.
int main() {
  return 0;
}
