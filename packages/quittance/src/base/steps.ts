/**
 * Work that can be interrupted. A generator yields after each small step, and its runner lets other work through when
 * the steps have taken long enough.
 */
import type { Awaitable } from './json.ts';

/** A step that yields `rest` ends its slice: the next step takes long. */
export type Steps<T> = Generator<'rest' | undefined, T, undefined>;

/** How long steps run before other work of the event loop gets a turn. */
const sliceMs = 8;
/** This many steps run before the clock counts, so that short work is synchronous even on a busy machine. */
const fewSteps = 64;

/** Runs all steps: synchronously if they are quick, else in slices between which the event loop is free. */
export function takeSteps<T>(steps: Steps<T>): Awaitable<T> {
  const taken = takeSlice(steps);
  return taken.done === true ? taken.value : takeRest(steps);
}

/** Runs all steps synchronously, for code with an otherwise idle event loop. */
export function finishSteps<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

async function takeRest<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    await new Promise(setImmediate);
    const taken = takeSlice(steps);
    if (taken.done === true) return taken.value;
  }
}

function takeSlice<T>(steps: Steps<T>): IteratorResult<'rest' | undefined, T> {
  const endsAt = performance.now() + sliceMs;
  for (let taken = 1; ; taken++) {
    const step = steps.next();
    if (step.done === true || step.value === 'rest') return step;
    if (taken >= fewSteps && performance.now() >= endsAt) return step;
  }
}
