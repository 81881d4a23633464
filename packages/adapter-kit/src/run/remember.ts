const mostRemembered = 1_000;

/** Adds an entry and drops the oldest one past a thousand, because some entries are never removed. */
export function rememberPerKey<Value>(shelf: Map<string, Value>, key: string, value: Value): void {
  const [oldest] = shelf.keys();
  if (shelf.size >= mostRemembered && oldest !== undefined && !shelf.has(key)) shelf.delete(oldest);
  shelf.set(key, value);
}
