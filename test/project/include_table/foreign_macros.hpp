// SPDX-License-Identifier: Apache-2.0
//
// Words that well-known headers and build systems define as macros; those with arguments take any number.

// Qt
#define signals of_another_library
#define slots of_another_library
#define emit of_another_library
#define foreach(...) of_another_library
#define forever of_another_library
#define Q_EMIT of_another_library
#define Q_FOREACH of_another_library
#define Q_OBJECT of_another_library
#define Q_SIGNALS of_another_library
#define Q_SLOTS of_another_library

// X11
#define Above of_another_library
#define Always of_another_library
#define Below of_another_library
#define Bool of_another_library
#define Complex of_another_library
#define ControlMask of_another_library
#define Convex of_another_library
#define CurrentTime of_another_library
#define CursorShape of_another_library
#define DestroyAll of_another_library
#define EnterNotify of_another_library
#define Expose of_another_library
#define False of_another_library
#define FocusIn of_another_library
#define FocusOut of_another_library
#define GrayScale of_another_library
#define InputOnly of_another_library
#define InputOutput of_another_library
#define KeyPress of_another_library
#define KeyRelease of_another_library
#define None of_another_library
#define NormalState of_another_library
#define Opposite of_another_library
#define Status of_another_library
#define Success of_another_library
#define True of_another_library
#define Unsorted of_another_library

// curses, as included from C++
#define addch(...) of_another_library
#define border(...) of_another_library
#define echochar(...) of_another_library
#define getch(...) of_another_library
#define getstr(...) of_another_library
#define hline(...) of_another_library
#define inch(...) of_another_library
#define instr(...) of_another_library
#define scroll(...) of_another_library
#define standout(...) of_another_library
#define timeout(...) of_another_library
#define vline(...) of_another_library

// <complex.h>, <sys/sysmacros.h>, and macros of compilers in GNU modes
#define I of_another_library
#define complex of_another_library
#define imaginary of_another_library
#define linux of_another_library
#define major(...) of_another_library
#define makedev(...) of_another_library
#define minor(...) of_another_library
#define unix of_another_library

// Windows, and code written in its style
#define CONST of_another_library
#define DELETE of_another_library
#define ERROR of_another_library
#define FALSE of_another_library
#define IN of_another_library
#define NO_ERROR of_another_library
#define OPTIONAL of_another_library
#define OUT of_another_library
#define TRUE of_another_library
#define VOID of_another_library
#define cdecl of_another_library
#define far of_another_library
#define huge of_another_library
#define hyper of_another_library
#define interface of_another_library
#define max(...) of_another_library
#define min(...) of_another_library
#define near of_another_library
#define pascal of_another_library
#define small of_another_library

// Game engines, and the style of the Linux kernel
#define check(...) of_another_library
#define likely(...) of_another_library
#define require(...) of_another_library
#define unlikely(...) of_another_library

// Logging, and macros that projects define by -D
#define ASSERT(...) of_another_library
#define CHECK(...) of_another_library
#define DEBUG of_another_library
#define FATAL of_another_library
#define INFO of_another_library
#define LOG(...) of_another_library
#define TRACE(...) of_another_library
#define VERSION of_another_library
#define WARNING of_another_library
