/** Applies the retention rules of the settings, now and then, until the server stops. */
import type { Ledger } from '../../ledger/ledger.ts';
import type { RetentionRule } from '../../ledger/removal.ts';
import { applyRetention } from '../../ledger/removal.ts';
import type { ServerLog } from './server-log.ts';

const firstDelayMs = 5_000;

/** Returns a function that stops it and waits for the run under way. */
export function runRetention(
  ledger: Ledger,
  rules: readonly RetentionRule[],
  everyMs: number,
  log: ServerLog,
  delayMs: number = firstDelayMs,
): () => Promise<void> {
  if (rules.length === 0) return () => Promise.resolve();
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  const once = async (): Promise<void> => {
    try {
      const { dropped, erased, kept } = await applyRetention(
        ledger,
        rules,
        { by: 'quittance serve', reason: 'retention rules of the configuration' },
        { signal: stop.signal },
      );
      if (dropped.length + erased.length + kept.length > 0)
        await log.write(
          'info',
          'retention.applied',
          `Retention: ${dropped.length} sessions dropped, ${erased.length} erased, ${kept.length} kept with an open or unresolved call.`,
          { dropped: dropped.length, erased: erased.length, kept: kept.length },
        );
    } catch (error) {
      await log.write('error', 'retention.failed', `Retention failed: ${String(error)}`);
    }
  };
  const schedule = (inMs: number): void => {
    const timer = setTimeout(() => {
      running = once().then(() => (stop.signal.aborted ? undefined : schedule(everyMs)));
    }, inMs);
    timer.unref();
    stop.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  };
  schedule(delayMs);
  return () => {
    stop.abort();
    return running;
  };
}
