/**
 * A tool whose body is a recording. It takes what the real one takes, so everything before the body happens as it
 * does live; the real body, its preview, its undo, its output schema, its success check and its `reconcile` are not part
 * of it.
 *
 * The runtime asks the success check and the output schema in the same breath in which a body returned, so what was
 * recorded about a result is handed from the one to the other, and taken away once it was asked for.
 */
import type { Awaitable, JsonValue } from '../base/json.ts';
import type { AnyTool, UnseenAttempt } from '../tool/define-tool.ts';
import type { CompiledSchema, SchemaCheck } from '../tool/schema.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import type { ToolContext } from '../tool/tool-context.ts';
import type { PreviewContext } from '../tool/make-preview.ts';
import type { CancelledOperation, PreviewRevision } from '../tool/preview.ts';
import { undoToolName } from '../runtime/host/undo-tool.ts';
import type { RecordedArtifacts } from './fill-recorded.ts';
import type { PlayedRun, Time } from './play-back.ts';
import { playBack } from './play-back.ts';
import type { ReplayTime } from './replay-time.ts';

/** A body that is asked for, with its input as JSON, artifacts filled in. */
export type AskedBody = { readonly tool: AnyTool; readonly input: JsonValue; readonly context: ToolContext };

type Shown = PreviewRevision | AsyncIterable<PreviewRevision>;

export type RecordedToolOptions = {
  readonly artifacts: RecordedArtifacts;
  readonly time: ReplayTime | undefined;
  /** Finds the run to play; throws where there is none. `live` runs the real body, where that is allowed. */
  readonly choose: (asked: AskedBody) => PlayedRun | 'live';
  /** Shows what was shown. `live` asks the tool, where that is allowed. */
  readonly preview: (asked: Omit<AskedBody, 'context'>) => Shown | 'live';
  /** Whether another process may run it now. */
  readonly handsOff: () => boolean;
  /** Given where the real body may run: what judges its results, unless the tool says so itself. */
  readonly live?: { readonly successCheck: SuccessCheck };
};

export function toRecordedTool(
  tool: AnyTool,
  { artifacts, time, choose, preview: play, handsOff, live }: RecordedToolOptions,
): AnyTool {
  let returned: { readonly reported: string | undefined } | undefined;
  let checked = false;
  const { idleTimeoutMs: idleMs } = tool;
  const howTimePasses: Time = time ? { clock: time, idleMs } : live ? 'never' : 'at_once';
  const { costMicros, idempotencyKey, resourceKeys, reconcile, output, preview, cancel, undo } = tool;
  /** Operations of which the tool has shown something itself, in the only case where it may. */
  const shownLive = new Set<string>();
  return Object.freeze({
    ...tool,
    input: boxing(tool.input),
    costMicros: typeof costMicros === 'function' ? (args: unknown) => costMicros(unbox(args)) : costMicros,
    idempotencyKey: idempotencyKey && ((args: unknown) => idempotencyKey(unbox(args))),
    resourceKeys: resourceKeys && ((args: unknown) => resourceKeys(unbox(args))),
    reconcile:
      live &&
      reconcile &&
      ((attempt: UnseenAttempt<unknown>) => reconcile({ ...attempt, args: unbox(attempt.args) })),
    get handoff() {
      return tool.handoff && handsOff();
    },
    preview:
      preview &&
      ((args: unknown, context: PreviewContext) => {
        const shown = play({ tool, input: jsonOf(args) });
        if (shown !== 'live') return shown;
        shownLive.add(context.operationId);
        return preview(unbox(args), context);
      }),
    cancel:
      live &&
      cancel &&
      ((operation: CancelledOperation) =>
        shownLive.delete(operation.operationId) ? cancel(operation) : undefined),
    undo:
      undo &&
      ((args: unknown, given: unknown, context: ToolContext) => {
        const asked = { tool: { ...tool, name: undoToolName(tool.name) }, input: jsonOf(args), context };
        return run(asked, () => undo(unbox(args), given, context));
      }),
    // Whatever does not answer at once has timed out.
    idleTimeoutMs: howTimePasses === 'at_once' ? 0 : tool.idleTimeoutMs,
    output: live && output && { ...output, check: (value: unknown) => checkLive(output, value) },
    successCheck: (name: string, result: unknown) => {
      const recorded = returned;
      returned = undefined;
      checked = recorded !== undefined;
      if (recorded !== undefined)
        return recorded.reported === undefined ? true : { ok: false, reason: recorded.reported };
      // Only a real body returns something nobody recorded.
      return (tool.successCheck ?? live?.successCheck ?? refuse)(name, result);
    },
    run: (args: unknown, context: ToolContext) =>
      run({ tool, input: jsonOf(args), context }, () => tool.run(unbox(args), context)),
  });

  function run(asked: AskedBody, runLive: () => Awaitable<unknown>): Awaitable<unknown> {
    const chosen = choose(asked);
    if (chosen === 'live') return runLive();
    const played = playBack(chosen, artifacts, asked.context, howTimePasses);
    switch (played.type) {
      case 'threw':
        throw played.error;
      case 'pending':
        return played.pending;
      case 'returned':
        returned = { reported: played.reported };
        return played.value;
    }
  }

  /** A result that was recorded is the schema's reading of what the body gave; it is not read a second time. */
  function checkLive(schema: CompiledSchema, value: unknown): Awaitable<SchemaCheck> {
    const wasRecorded = checked;
    checked = false;
    return wasRecorded ? { ok: true, value } : schema.check(value);
  }
}

const refuse: SuccessCheck = () => ({ ok: false, reason: 'This was not recorded.' });

/** What a schema made of an input, together with that input: recordings are found by what was asked. */
class Boxed {
  readonly json: JsonValue;
  readonly executed: unknown;

  constructor(json: JsonValue, executed: unknown) {
    this.json = json;
    this.executed = executed;
  }
}

const jsonOf = (args: unknown): JsonValue => (args instanceof Boxed ? args.json : null);
const unbox = (args: unknown): unknown => (args instanceof Boxed ? args.executed : args);

const boxing = (schema: CompiledSchema): CompiledSchema => ({
  ...schema,
  wrap: (accepted, value) => new Boxed(accepted, value),
});
