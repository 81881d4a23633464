/**
 * A body that telemetry runs.
 *
 * 1. It runs once, whatever telemetry does: telemetry may throw, call it twice, or not at all.
 * 2. The time of the telemetry itself does not count as time of the body.
 */
import { inputForTool } from '../input/input-for-tool.ts';
import type { BodyOnce } from '../state/call-observer.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import type { BodyContext } from './body-context.ts';

/** The attempt that the body belongs to. */
type ObservedAttempt = { readonly live: ReadyCall; readonly context: BodyContext; startedAtMs: number };

export class ObservedBody implements BodyOnce {
  private readonly attempt: ObservedAttempt;
  private end: 'none' | 'returned' | 'threw' = 'none';
  private value: unknown;
  endedAtMs: number | undefined;

  constructor(attempt: ObservedAttempt) {
    this.attempt = attempt;
  }

  readonly run = (): unknown => {
    // A body that starts itself again through telemetry must not run again either.
    if (this.end === 'none') this.runOnce();
    return this.end === 'returned' ? this.value : undefined;
  };

  private runOnce(): void {
    const { live, context } = this.attempt;
    const { tool, input, engine } = live;
    this.end = 'returned';
    this.attempt.startedAtMs = engine.clock.monotonicMs();
    try {
      this.value = tool.run(inputForTool(tool.input, input), context);
    } catch (error) {
      this.end = 'threw';
      this.value = error;
    } finally {
      this.endedAtMs = engine.clock.monotonicMs();
    }
  }

  finish(): unknown {
    if (this.end === 'none') this.runOnce();
    if (this.end === 'threw') throw this.value;
    return this.value;
  }
}
