/**
 * A tool whose body is a recording. It has the real input schema, so every check before the body works as in a live
 * call. It has none of the real body, preview, undo, output schema, success check and `reconcile`.
 *
 * The runtime calls the success check and the output schema immediately after the body returns. The recorded verdict
 * on a result is therefore passed from one to the other and removed after use.
 */
import type { Awaitable, JsonValue } from '../base/json.ts';
import type { AnyTool, UnseenAttempt } from '../tool/define-tool.ts';
import type { CompiledSchema, SchemaCheck } from '../tool/schema.ts';
import type { SuccessCheck } from '../tool/success-check.ts';
import type { ToolContext } from '../tool/tool-context.ts';
import type { PreviewContext } from '../tool/make-preview.ts';
import type { CancelledOperation, PreviewRevision } from '../tool/preview.ts';
import { undoToolName } from '../runtime/undo-tool.ts';
import type { RecordedArtifacts } from './fill-recorded.ts';
import type { PlayedRun, Time } from './play-back.ts';
import { playBack } from './play-back.ts';
import type { ReplayTime } from './replay-time.ts';

/** A requested run, with its input as JSON and artifacts filled in. */
export type AskedBody = { readonly tool: AnyTool; readonly input: JsonValue; readonly context: ToolContext };

type Shown = PreviewRevision | AsyncIterable<PreviewRevision>;

type RecordedToolOptions = {
  readonly artifacts: RecordedArtifacts;
  readonly time: ReplayTime | undefined;
  /** Finds the run to play; throws if there is none. `live` runs the real body, if that is allowed. */
  readonly choose: (asked: AskedBody) => PlayedRun | 'live';
  /** Returns the recorded preview. `live` asks the tool, if that is allowed. */
  readonly preview: (asked: Omit<AskedBody, 'context'>) => Shown | 'live';
  /** May another process run it now? */
  readonly handsOff: () => boolean;
  /** Set if the real body may run: judges its results, unless the tool has its own check. */
  readonly live?: { readonly successCheck: SuccessCheck };
};

export function toRecordedTool(
  tool: AnyTool,
  { artifacts, time, choose, preview: play, handsOff, live }: RecordedToolOptions,
): AnyTool {
  let returned: { readonly reported: string | undefined } | undefined;
  let checked = false;
  const howTimePasses: Time = time ? { clock: time, idleMs: tool.idleTimeoutMs } : live ? 'never' : 'at_once';
  const { costMicros, idempotencyKey, resourceKeys, reconcile, output, preview, cancel, undo } = tool;
  /** Operations whose preview came from the tool itself, in the only case that allows it. */
  const shownLive = new Set<string>();
  return Object.freeze({
    ...tool,
    input: boxedInputs(tool.input),
    costMicros:
      typeof costMicros === 'function' ? (args: unknown) => costMicros(unboxInput(args)) : costMicros,
    idempotencyKey: idempotencyKey && ((args: unknown) => idempotencyKey(unboxInput(args))),
    resourceKeys: resourceKeys && ((args: unknown) => resourceKeys(unboxInput(args))),
    reconcile:
      live &&
      reconcile &&
      ((attempt: UnseenAttempt<unknown>) => reconcile({ ...attempt, args: unboxInput(attempt.args) })),
    get handoff() {
      return tool.handoff && handsOff();
    },
    preview:
      preview &&
      ((args: unknown, context: PreviewContext) => {
        const shown = play({ tool, input: jsonOf(args) });
        if (shown !== 'live') return shown;
        shownLive.add(context.operationId);
        return preview(unboxInput(args), context);
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
        return run(asked, () => undo(unboxInput(args), given, context));
      }),
    // Every call that does not answer at once has timed out.
    idleTimeoutMs: howTimePasses === 'at_once' ? 0 : tool.idleTimeoutMs,
    output: live && output && { ...output, check: (value: unknown) => checkLive(output, value) },
    successCheck: (name: string, result: unknown) => {
      const recorded = returned;
      returned = undefined;
      checked = recorded !== undefined;
      if (recorded !== undefined) return verdictOf(recorded.reported);
      // Only a real body returns a value that was not recorded.
      return (tool.successCheck ?? live?.successCheck ?? refuse)(name, result);
    },
    run: (args: unknown, context: ToolContext) =>
      run({ tool, input: jsonOf(args), context }, () => tool.run(unboxInput(args), context)),
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

  /** A recorded result already went through the schema, so it is not checked again. */
  function checkLive(schema: CompiledSchema, value: unknown): Awaitable<SchemaCheck> {
    const wasRecorded = checked;
    checked = false;
    return wasRecorded ? { ok: true, value } : schema.check(value);
  }
}

const verdictOf = (reported: string | undefined): ReturnType<SuccessCheck> =>
  reported === undefined ? true : { ok: false, reason: reported };

const refuse: SuccessCheck = () => ({ ok: false, reason: 'This was not recorded.' });

/** The schema's output together with its input, because recordings are found by the request. */
class Boxed {
  readonly json: JsonValue;
  readonly executed: unknown;

  constructor(json: JsonValue, executed: unknown) {
    this.json = json;
    this.executed = executed;
  }
}

const jsonOf = (args: unknown): JsonValue => (args instanceof Boxed ? args.json : null);
const unboxInput = (args: unknown): unknown => (args instanceof Boxed ? args.executed : args);

/** The same schema, with boxed outputs. */
const boxedInputs = (schema: CompiledSchema): CompiledSchema => ({
  ...schema,
  wrap: (accepted, value) => new Boxed(accepted, value),
});
