/* Functions of newer glibcs that g++'s libraries call, for wheels that are linked against an older one. */

#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* 2.32: whether the process has one thread, so that counters need no atomics. "No" is always safe. */
char __libc_single_threaded = 0;

/* 2.25 */
int getentropy(void *buffer, size_t length) {
    if (length > 256) {
        errno = EIO;
        return -1;
    }
    for (size_t done = 0; done < length;) {
        const long got = syscall(SYS_getrandom, (char *)buffer + done, length - done, 0);
        if (got < 0 && errno != EINTR) {
            return -1;
        }
        done += got < 0 ? 0 : (size_t)got;
    }
    return 0;
}

/* 2.36 */
uint32_t arc4random(void) {
    uint32_t drawn = 0;
    return getentropy(&drawn, sizeof drawn) == 0 ? drawn : (uint32_t)time(NULL);
}

/* 2.30: pthread_cond_timedwait by a clock. libstdc++ looks at the clock itself and waits again if it is early: to
   end after a tenth of a second is right, and bounds what setting the wall clock can do. */
int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until) {
    struct timespec here, wall;
    if (clock_gettime(clock, &here) != 0 || clock_gettime(CLOCK_REALTIME, &wall) != 0) {
        return EINVAL;
    }
    const long long billion = 1000000000LL;
    long long left = (until->tv_sec - here.tv_sec) * billion + (until->tv_nsec - here.tv_nsec);
    left = left < 0 ? 0 : left > billion / 10 ? billion / 10 : left;
    const long long nanoseconds = wall.tv_nsec + left % billion;
    wall.tv_sec += left / billion + nanoseconds / billion;
    wall.tv_nsec = nanoseconds % billion;
    return pthread_cond_timedwait(condition, mutex, &wall);
}
