/**
 * Has a tool show what a call would do.
 *
 * 1. It is bounded in time by the tool's timeout, in size, and in versions: the first one, the last one and at most two
 *    a second between them are kept, and no more than twenty before the last.
 * 2. Whoever stops waiting calls `hand.abandon`: after that nothing is put on the record here any more.
 */
import type { Stop } from '../state/gate.ts';
import type { CallInHand } from '../state/call-in-hand.ts';
import { clean } from '../input/clean.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { PreviewContext } from '../../tool/make-preview.ts';
import { previewProblemOf } from './preview-problem.ts';
import { readRevision } from './read-revision.ts';

const msBetweenDrafts = 500;
const mostDrafts = 20;
const mostVersions = 10_000;

/** Leaves the ready version in `hand.snapshot` and on the record, or says why there is none. */
export async function runPreview(hand: CallInHand): Promise<Stop | undefined> {
  const run = new PreviewRun(hand);
  hand.abandon = () => run.abandon();
  try {
    const problem = await run.run();
    return problem === undefined ? undefined : failed(hand, problem);
  } finally {
    hand.abandon = undefined;
  }
}

const failed = (hand: CallInHand, problem: string): Stop => ({
  type: 'deny',
  reason: 'expired',
  code: 'preview.failed',
  details: clean(hand, `The preview of "${hand.knownTool.displayName}" ${problem}.`),
});

type Step = { readonly type: 'version'; readonly value: unknown } | { readonly type: 'done' };

class PreviewRun {
  readonly #hand: CallInHand;
  readonly #operationId: string;
  readonly #controller = new AbortController();
  readonly #stopped = Promise.withResolvers<string>();
  #problem: string | undefined;
  #iterator: AsyncIterator<unknown> | undefined;
  #drafts = 0;
  #lastDraftAtMs = Number.NEGATIVE_INFINITY;

  constructor(hand: CallInHand) {
    this.#hand = hand;
    this.#operationId = hand.engine.ids.next('op');
  }

  async run(): Promise<string | undefined> {
    const { engine, knownTool: tool } = this.#hand;
    const toolMs = tool.timeoutMs ?? engine.defaultTimeoutMs;
    const watch = engine.deadlines.watch(toolMs, () => this.#stop(`took longer than ${toolMs} ms`));
    try {
      return await this.#follow();
    } finally {
      watch.stop();
    }
  }

  abandon(): void {
    this.#stop('was given up');
  }

  #stop(problem: string): void {
    if (this.#problem !== undefined) return;
    this.#problem = problem;
    this.#stopped.resolve(problem);
    this.#controller.abort(new DOMException('Nobody waits for the preview any more.', 'AbortError'));
    try {
      void Promise.resolve(this.#iterator?.return?.()).catch(() => undefined);
    } catch {
      // A stream that cannot be closed is left alone.
    }
  }

  async #follow(): Promise<string | undefined> {
    let last: { readonly value: unknown } | undefined;
    for (let versions = 1; ; versions++) {
      const step = await this.#unlessStopped(versions === 1 ? this.#first() : this.#next());
      if (typeof step === 'string') return step;
      if (step.type === 'done') break;
      last = step;
      if (this.#iterator === undefined) break;
      if (versions >= mostVersions) {
        this.#stop(`gave more than ${mostVersions} versions`);
        return this.#problem;
      }
      const problem = await this.#keepDraft(step.value);
      if (problem !== undefined) return problem;
    }
    return last === undefined ? 'gave no version' : this.#keep(last.value, true);
  }

  async #unlessStopped(step: Promise<Step>): Promise<Step | string> {
    try {
      const first = await Promise.race([step, this.#stopped.promise]);
      return this.#problem ?? first;
    } catch (error) {
      return this.#problem ?? previewProblemOf(error) ?? `threw: ${describeThrown(error)}`;
    }
  }

  async #first(): Promise<Step> {
    const hand = this.#hand;
    const { knownTool: tool } = hand;
    if (tool.preview === undefined) return { type: 'done' };
    const given: unknown = tool.preview(hand.handOut(), this.#context());
    if (!isAsyncIterable(given)) return { type: 'version', value: await given };
    this.#iterator = given[Symbol.asyncIterator]();
    return this.#next();
  }

  async #next(): Promise<Step> {
    const next = await this.#iterator?.next();
    return next === undefined || next.done === true
      ? { type: 'done' }
      : { type: 'version', value: next.value };
  }

  #context(): PreviewContext {
    const { callId, sessionId, turnId, request, principal } = this.#hand;
    return Object.freeze({
      callId,
      sessionId,
      turnId,
      toolName: request.name,
      principal,
      operationId: this.#operationId,
      signal: this.#controller.signal,
    });
  }

  /** Not every keystroke is worth an event. */
  async #keepDraft(value: unknown): Promise<string | undefined> {
    const nowMs = this.#hand.engine.clock.monotonicMs();
    if (this.#drafts >= mostDrafts || nowMs - this.#lastDraftAtMs < msBetweenDrafts) return undefined;
    this.#drafts++;
    this.#lastDraftAtMs = nowMs;
    const problem = this.#keep(value, false);
    if (problem !== undefined) {
      this.#stop(problem);
      return problem;
    }
    // Whoever watches the call sees it grow. Where somebody else has moved the call, the next append hears of it.
    await this.#hand.flush();
    return this.#problem;
  }

  #keep(value: unknown, ready: boolean): string | undefined {
    const hand = this.#hand;
    const read = readRevision(hand, value);
    if (typeof read === 'string') return read;
    const revision = (hand.call?.preview?.revision ?? 0) + 1;
    const inputDigest = hand.input.effective.digest;
    hand.apply({
      type: 'preview',
      operationId: this.#operationId,
      revision,
      ready,
      preview: read.preview,
      snapshot: read.kept,
      hidden: read.hidden,
      inputDigest,
      expiresAt: read.expiresAt,
    });
    hand.snapshot = {
      operationId: this.#operationId,
      revision,
      snapshot: read.exact,
      inputDigest,
      hiddenValues: read.hiddenValues,
    };
    return undefined;
  }
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  Symbol.asyncIterator in value &&
  typeof value[Symbol.asyncIterator] === 'function';
