// The one translation unit that is always there, so that the library is never empty.
namespace tw {
extern const int kAbiVersion = 1;
}
