import { spawnSync } from 'node:child_process';
import { createRuntime, defineTool } from 'quittance';
import { createManualClock } from 'quittance/testing';
import { describe, expect, it } from 'vitest';
import { envelope } from '../../../../test/stage.ts';
import { createDeadlines } from './deadlines.ts';

describe('many deadlines on one timer', () => {
  const watching = () => {
    const clock = createManualClock(0);
    let started = 0;
    const deadlines = createDeadlines({
      ...clock,
      startTimer: (fire, delayMs) => {
        started++;
        return clock.startTimer(fire, delayMs);
      },
    });
    const fired: string[] = [];
    const watch = (name: string, delayMs: number) =>
      deadlines.watch(delayMs, () => fired.push(`${name}@${clock.monotonicMs()}`));
    return { clock, fired, watch, started: () => started };
  };

  it('fire each at its own time, in whatever order they were set', () => {
    const { clock, fired, watch } = watching();
    watch('c', 300);
    watch('a', 100);
    watch('b', 200);
    clock.advance(1_000);
    expect(fired).toEqual(['a@100', 'b@200', 'c@300']);
  });

  it('do not fire once stopped, and fire later once moved', () => {
    const { clock, fired, watch } = watching();
    const stopped = watch('stopped', 100);
    const moved = watch('moved', 100);
    const hurried = watch('hurried', 500);
    clock.advance(50);
    stopped.stop();
    moved.move(100);
    hurried.move(20);
    clock.advance(1_000);
    expect(fired).toEqual(['hurried@70', 'moved@150']);
    moved.move(10);
    clock.advance(1_000);
    expect(fired).toHaveLength(2);
  });

  it('may be set, stopped and moved by one another while they fire', () => {
    const { clock, fired, watch } = watching();
    const later = watch('later', 200);
    const other = createDeadlines(clock);
    other.watch(100, () => {
      later.move(50);
      watch('new', 10);
    });
    clock.advance(1_000);
    expect(fired).toEqual(['new@110', 'later@150']);
  });

  it('many deadlines on one timer of a thousand calls that end in time start few timers', () => {
    const { watch, started } = watching();
    for (let n = 0; n < 1_000; n++) watch('call', 30_000 + n).stop();
    expect(started()).toBeLessThan(5);
  });
});

describe('the system clock', () => {
  it('stops a hanging body', async () => {
    const runtime = createRuntime({
      tools: [defineTool({ name: 'hang', timeoutMs: 30, run: () => new Promise(() => undefined) })],
    });
    const outcome = await runtime.turn({ sessionId: 's' }).call(envelope('c', 'hang'));
    expect(outcome).toMatchObject({ type: 'ToolTimeout' });
    expect('elapsedMs' in outcome && outcome.elapsedMs).toBeGreaterThanOrEqual(30);
  });

  const program = (lines: string) =>
    spawnSync(
      process.execPath,
      [
        '--conditions=quittance-source',
        '--input-type=module',
        '--eval',
        `import { createRuntime, defineTool } from 'quittance';
         const runtime = createRuntime({ tools: [
           defineTool({ name: 'quick', run: async () => 'done' }),
           defineTool({ name: 'hang', timeoutMs: 100, run: () => new Promise(() => {}) }),
         ] });
         const turn = runtime.turn({ sessionId: 's', timeoutMs: 600_000 });
         ${lines}`,
      ],
      // Far less than the deadline of the program's turn.
      { encoding: 'utf8', timeout: 100_000 },
    );

  it('keeps the process alive while a caller waits for a body', () => {
    const { stdout } = program(
      `console.log((await turn.call({ id: 'c', name: 'hang', arguments: {} })).type);`,
    );
    expect(stdout.trim()).toBe('ToolTimeout');
  });

  it('lets the process end when no caller waits any more, however long a deadline is', () => {
    const { status, stdout } = program(
      `console.log((await turn.call({ id: 'c', name: 'quick', arguments: {} })).type);`,
    );
    expect([status, stdout.trim()]).toEqual([0, 'ToolExecutionResult']);
  });
});
