/**
 * Makes a tool preview a call.
 *
 * 1. The tool's timeout bounds its time. Its size is bounded, and so is the number of stored versions: the
 *    first, the last, at most two a second between them, and at most twenty before the last.
 * 2. Code that stops waiting calls `signals.abandon`. After that this file records nothing more.
 */
import type { Stop } from '../state/gate.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import { useSnapshot } from '../state/recall-snapshot.ts';
import { inputForTool } from '../input/input-for-tool.ts';
import { clean } from '../input/clean.ts';
import { describeThrown } from '../../tool/describe-thrown.ts';
import type { PreviewContext } from '../../tool/make-preview.ts';
import { previewProblemOf } from './preview-problem.ts';
import type { PreviewProblem } from './read-revision.ts';
import { readRevision } from './read-revision.ts';

const msBetweenDrafts = 500;
const mostDrafts = 20;
const mostVersions = 10_000;

/** Puts the final version into `preview.snapshot` and on record, or returns why there is none. */
export async function runPreview(live: ReadyCall): Promise<Stop | undefined> {
  const run = new PreviewRun(live);
  live.signals.abandon = () => run.abandon();
  try {
    const problem = await run.run();
    return problem === undefined ? undefined : failed(live, problem);
  } finally {
    live.signals.abandon = undefined;
  }
}

const failed = (live: ReadyCall, problem: string): Stop => ({
  type: 'deny',
  reason: 'expired',
  code: 'preview.failed',
  details: clean(live, `The preview of "${live.tool.displayName}" ${problem}.`),
});

type Step = { readonly type: 'version'; readonly value: unknown } | { readonly type: 'done' };

class PreviewRun {
  readonly #live: ReadyCall;
  readonly #operationId: string;
  readonly #controller = new AbortController();
  readonly #stopped = Promise.withResolvers<PreviewProblem>();
  #problem: string | undefined;
  #iterator: AsyncIterator<unknown> | undefined;
  #drafts = 0;
  #lastDraftAtMs = Number.NEGATIVE_INFINITY;

  constructor(live: ReadyCall) {
    this.#live = live;
    this.#operationId = live.engine.ids.next('op');
  }

  async run(): Promise<string | undefined> {
    const { engine, tool } = this.#live;
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
    this.#stopped.resolve({ type: 'problem', problem });
    this.#controller.abort(new DOMException('The call no longer waits for the preview.', 'AbortError'));
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
      if (step.type === 'problem') return step.problem;
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

  async #unlessStopped(step: Promise<Step>): Promise<Step | PreviewProblem> {
    try {
      const first = await Promise.race([step, this.#stopped.promise]);
      return this.#problem === undefined ? first : { type: 'problem', problem: this.#problem };
    } catch (error) {
      const problem = this.#problem ?? previewProblemOf(error) ?? `threw: ${describeThrown(error)}`;
      return { type: 'problem', problem };
    }
  }

  async #first(): Promise<Step> {
    const live = this.#live;
    const { tool } = live;
    if (tool.preview === undefined) return { type: 'done' };
    const given: unknown = tool.preview(inputForTool(live.tool.input, live.input), this.#context());
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
    const { callId, sessionId, turn, request, facts } = this.#live;
    return Object.freeze({
      callId,
      sessionId,
      turnId: turn.turnId,
      toolName: request.name,
      principal: facts.principal,
      operationId: this.#operationId,
      signal: this.#controller.signal,
    });
  }

  /** Limits the rate of stored drafts. */
  async #keepDraft(value: unknown): Promise<string | undefined> {
    const nowMs = this.#live.engine.clock.monotonicMs();
    if (this.#drafts >= mostDrafts || nowMs - this.#lastDraftAtMs < msBetweenDrafts) return undefined;
    this.#drafts++;
    this.#lastDraftAtMs = nowMs;
    const problem = this.#keep(value, false);
    if (problem !== undefined) {
      this.#stop(problem);
      return problem;
    }
    // Viewers of the call see the draft grow. If another process has changed the call, the next append
    // notices.
    await this.#live.journal.flush();
    return this.#problem;
  }

  #keep(value: unknown, ready: boolean): string | undefined {
    const live = this.#live;
    const read = readRevision(live, value);
    if (read.type === 'problem') return read.problem;
    const revision = (live.journal.call?.preview?.revision ?? 0) + 1;
    const inputDigest = live.input.effective.digest;
    live.journal.apply({
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
    useSnapshot(live, {
      operationId: this.#operationId,
      revision,
      snapshot: read.exact,
      inputDigest,
      hiddenValues: read.hiddenValues,
    });
    return undefined;
  }
}

const isAsyncIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' &&
  value !== null &&
  Symbol.asyncIterator in value &&
  typeof value[Symbol.asyncIterator] === 'function';
