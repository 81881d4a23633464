/** How much processor time something takes in this thread. What else the machine does is left out. Coarse: 10 ms. */
export function cpuMs(run: () => void): number {
  const before = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}
