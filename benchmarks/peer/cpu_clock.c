/* Loaded before a program that times itself by the clock of the day: gives it the CPU time of its process
   instead, so that other programs on the machine disturb its times no more than ours. Other clocks stay. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now) {
    return (int)syscall(SYS_clock_gettime, clock == CLOCK_REALTIME ? CLOCK_PROCESS_CPUTIME_ID : clock, now);
}
