// Whether a calling thread has the stack that a product takes.
#pragma once

namespace ozfp4::interpose {

// False in a thread with little room left, and on a stack that is not the thread's own, as of a coroutine, whose end nobody
// tells. Asks the system once in each thread.
bool has_stack();

}  // namespace ozfp4::interpose
