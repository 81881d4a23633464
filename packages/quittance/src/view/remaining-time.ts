/** Remaining time in words that change as rarely as possible: `4 min 05 s`, `2 h 10 min`, `3 days`. */
export function remainingTime(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1_000));
  const [minutes, hours, days] = [60, 3_600, 86_400].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ];
  if (days >= 2) return `${days} days`;
  if (hours >= 1) return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
  if (minutes >= 1) return `${minutes} min ${String(seconds % 60).padStart(2, '0')} s`;
  return `${seconds} s`;
}

/** Elapsed time: `420 ms`, `1.2 s`, `3 min 20 s`. */
export function elapsedTime(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.max(0, Math.round(milliseconds))} ms`;
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`;
  return remainingTime(milliseconds);
}
