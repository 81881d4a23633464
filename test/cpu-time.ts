/** The CPU time that this thread has used, in milliseconds. Other programs on the machine do not change it. */
export function cpuMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}
