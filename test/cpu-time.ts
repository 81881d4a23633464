/**
 * The CPU time that this thread has used, in milliseconds. Other programs on the machine do not change it.
 * The kernel counts in steps of up to 10 ms: to compare short spans, use `cpuMsPerRun`.
 */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

/** The CPU time that one run takes in this thread, in milliseconds, in steps of up to 10 ms. */
export function cpuMsOf(run: () => void): number {
  const before = cpuMs();
  run();
  return cpuMs() - before;
}

/** The average CPU time of one run. It repeats the run until the time is long against the steps of the clock. */
export function cpuMsPerRun(run: () => void): number {
  const enough = 100;
  const before = cpuMs();
  let runs = 0;
  let used = 0;
  while (used < enough) {
    run();
    runs++;
    used = cpuMs() - before;
  }
  return used / runs;
}
