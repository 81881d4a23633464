/**
 * Prepares the recorded, approved input of a call for the body.
 *
 * 1. First it checks the stored record, the input against its digest, and every artifact that the input
 *    names.
 * 2. An input in JSON form runs as it is on record. No schema checks it again: a transform may not accept its
 *    own output.
 * 3. Any other input, or one whose tool has a new schema, is made again from the arguments that the schema
 *    accepted. If the result differs, it is not what was approved.
 */
import { isKeyedDigest } from '../../base/canonical.ts';
import { formatPath } from '../../base/json.ts';
import type { StoredCall } from '../../ledger/journal.ts';
import { isSameSchema } from '../../tool/define-tool.ts';
import { acceptInput } from './accept-input.ts';
import type { Unfilled } from '../input/fill-artifacts.ts';
import { fillRecordedArguments } from '../input/fill-artifacts.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import type { PreparedInput } from '../input/prepared-input.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import { formatIssues } from '../../tool/format-issues.ts';
import { collectHidden } from '../input/collect-hidden.ts';
import { isInputDigest } from '../input/input-digest.ts';
import { keepInput } from '../input/kept-input.ts';
import { readRecorded } from '../state/read-recorded.ts';
import type { Taken } from '../input/taken.ts';

type RecordedCall = AcceptedCall & {
  readonly tool: AnyTool;
  readonly input?: PreparedInput | undefined;
};

/** `read`: the stored call, if it was just read. */
export async function takeRecorded(live: RecordedCall, read?: StoredCall): Promise<Taken> {
  const {
    engine,
    journal: { call },
    tool,
  } = live;
  const { sessionId, callId } = live;
  const stored = read ?? (await engine.ledger.journal.readCall(sessionId, callId));
  const alteration = await stored?.findAlteration?.();
  if (alteration !== undefined) return { type: 'unusable', problem: alteration, why: 'altered' };
  if (call?.inputDigest === undefined) return gone('it has no input that was let through');
  const recorded = await readRecorded(engine, call);
  if (!recorded.ok)
    return recorded.altered
      ? { type: 'unusable', problem: recorded.problem, why: 'altered' }
      : gone(recorded.problem);
  const { form, effectiveInput, accepted } = recorded;
  const known = live.input?.effective.digest === call.inputDigest ? live.input : undefined;
  const hide = call.wasEdited ? call.hidden : [];
  const paths = hide.length === 0 ? tool.redact?.input : [...(tool.redact?.input ?? []), ...hide];
  const found = keepInput(effectiveInput, paths, engine.redactor, engine.seal);
  const kept = call.effectiveInput ?? call.requestedInput;
  const effective = known?.effective ?? {
    kept,
    // The caller's facts may have hidden more, and they are no longer available.
    hidden: isKeyedDigest(call.inputDigest) && found.hidden.length === 0 ? ['$'] : found.hidden,
    repeated: found.repeated,
    digest: call.inputDigest,
    secrets: [...found.secrets, ...(found.hidden.length === 0 ? [] : collectHidden(effectiveInput, kept))],
  };
  if (form === 'json' && isSameSchema(tool, requestedSchema(stored))) {
    const { ledger } = engine;
    const filled = await fillRecordedArguments(effectiveInput, call.artifacts, { ledger, sessionId });
    if (!filled.ok)
      return {
        type: 'unusable',
        problem: `${formatPath(filled.path)}: ${filled.problem}`,
        why: isOtherContent(filled.why) ? 'altered' : 'gone',
      };
    return {
      type: 'ready',
      prepared: {
        effective,
        effectiveInput,
        form,
        accepted,
        acceptedKept: undefined,
        checked: known?.checked ?? filled.value,
        value: filled.value,
        rendering: undefined,
        artifacts: call.artifacts,
        changes: [],
      },
    };
  }
  const asAccepted = { input: accepted, kept: keepInput(accepted, paths, engine.redactor, engine.seal) };
  const place = { engine, tool, sessionId, hide };
  // An input without a form has passed no schema yet, so it may still need coercion.
  const again = await acceptInput(place, asAccepted, accepted, form === undefined);
  if (!again.ok)
    return {
      type: 'unusable',
      problem: formatIssues(again.issues),
      why: isOtherContent(again.unfilled) ? 'altered' : 'refused',
    };
  const { prepared } = again;
  const other = call.artifacts.find(({ digest }, index) => prepared.artifacts[index]?.digest !== digest);
  if (other !== undefined)
    return {
      type: 'unusable',
      problem: `the artifact ${JSON.stringify(other.artifactId)} has another content than the one that was recorded`,
      why: 'altered',
    };
  return isInputDigest(call.inputDigest, prepared, engine.seal.digestKey)
    ? { type: 'ready', prepared: { ...prepared, effective } }
    : { type: 'differs', prepared };
}

const requestedSchema = (stored: StoredCall | undefined): string | undefined =>
  stored?.events.find((event) => event.type === 'tool.requested')?.schemaDigest;

const gone = (problem: string): Taken => ({ type: 'unusable', problem, why: 'gone' });

/** The record has the digest of the approved artifact: any other content was changed. */
const isOtherContent = (why: Unfilled['why'] | undefined): boolean => why === 'other' || why === 'altered';
