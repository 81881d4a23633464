/** Reads the arguments that a person edited. An edit that cannot run is refused, and the question stays open. */
import { QuittanceError } from '../../base/error.ts';
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject, toJson } from '../../base/json.ts';
import type { Call } from '../../call/call.ts';
import { acceptedInputOf } from '../../call/call.ts';
import type { ArtifactArgument, InputForm } from '../../call/event.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { formatIssues } from '../../tool/format-issues.ts';
import { acceptInput } from '../accept/accept-input.ts';
import { unmaskEdit } from '../accept/unmask-edit.ts';
import { maskedPaths } from '../input/collect-hidden.ts';
import type { KeptInput } from '../input/kept-input.ts';
import { keepInput } from '../input/kept-input.ts';
import type { Engine } from '../state/engine.ts';
import { sealContext, toPayload } from '../state/seal-input.ts';
import { hiddenCleaner } from './hidden-cleaner.ts';

export type Edit = {
  readonly input: KeptInput;
  /**
   * Undefined if this process does not have the tool. The process that runs the call then applies its schema
   * to the edit.
   */
  readonly form: InputForm | undefined;
  /** The person's arguments, if the schema changed them. */
  readonly accepted: JsonObject | undefined;
  readonly artifacts: readonly ArtifactArgument[];
  readonly sealed: string | undefined;
};

/**
 * The edited arguments in their stored form. If this process has the tool, they must match its schema without
 * coercion, and the schema's result is what was approved.
 */
export async function readEdit(engine: Engine, call: Call, given: JsonObject): Promise<Edit> {
  const read = toJson(given, { refuseUnsafeIntegers: true });
  if (!read.ok || !isJsonObject(read.value))
    throw new QuittanceError('config.invalid', 'The edited arguments must be an object that JSON can hold.');
  const wanted = await unmaskEdit(engine, call, read.value);
  if (engine.undoToolFor(call.toolName, undefined) !== undefined)
    throw new QuittanceError(
      'config.invalid',
      'The arguments of an undo cannot be edited: it must reverse the original call exactly.',
      { callId: call.callId },
    );
  const tool = engine.tools.get(call.toolName);
  // A process without the tool does not know what the tool hides, but values hidden before stay hidden.
  const hide = [
    ...new Set([...call.hidden, ...maskedPaths(acceptedInputOf(call)), ...maskedPaths(call.effectiveInput)]),
  ];
  const paths = [...(tool?.redact?.input ?? []), ...hide];
  const kept = keepInput(wanted, paths, engine.redactor, engine.seal);
  const context = sealContext(call.sessionId, call.callId);
  const seal = ({ hidden }: KeptInput, payload: JsonValue): string | undefined =>
    hidden.length === 0 ? undefined : engine.seal.seal(JSON.stringify(payload), context);
  if (tool === undefined)
    return { input: kept, form: undefined, accepted: undefined, artifacts: [], sealed: seal(kept, wanted) };
  const place = { engine, tool, sessionId: call.sessionId, hide };
  const fit = await acceptInput(place, { input: wanted, kept }, wanted, false);
  if (!fit.ok)
    throw new QuittanceError(
      'confirmation.mismatch',
      `The edited arguments do not fit the schema of "${call.toolName}": ${formatIssues(fit.issues)}`,
      {
        callId: call.callId,
        issues: JSON.stringify(fit.issues.map(({ path, message }) => ({ path, message }))),
      },
    );
  await refuseBlocked(engine, call, tool, fit.prepared.effectiveInput);
  const { effective, effectiveInput, form, artifacts } = fit.prepared;
  return {
    input: effective,
    form,
    accepted: effectiveInput === wanted ? undefined : (kept.kept as JsonObject), // redacting an object gives an object
    artifacts,
    sealed: seal(effective, toPayload(fit.prepared, undefined)),
  };
}

/**
 * An edit that the rules block is refused before it is recorded, so that the question stays open for another answer. The
 * gates judge the call again after the decision. Sandbox rules are left to them: they may use the folder of the turn.
 */
async function refuseBlocked(
  engine: Engine,
  call: Call,
  { resources }: Pick<AnyTool, 'resources'>,
  input: JsonObject,
): Promise<void> {
  const ruling = await engine.contracts?.policy.judgeCall({
    toolName: call.toolName,
    input,
    principal: call.principal,
    metadata: call.attrs,
    snapshot: undefined,
    resources,
  });
  const by = ruling?.decision === 'block' ? ruling.decidedBy : undefined;
  if (by === undefined || by.ruleType === 'sandbox') return;
  const clean = await hiddenCleaner(engine, call);
  throw new QuittanceError(
    'confirmation.mismatch',
    `The rule "${by.ruleId}" blocks the edited arguments: ${clean(by.message)} The question is still open.`,
    { callId: call.callId, ruleId: by.ruleId },
  );
}
