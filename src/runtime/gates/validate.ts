import type { Awaitable, JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import { readLenientJson } from '../../base/lenient-json.ts';
import type { InputChange } from '../../call/event.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { SchemaIssue } from '../../tool/schema-issue.ts';
import type { Acceptance, RequestedInput } from '../accept/accept-input.ts';
import { acceptInput, prepare } from '../accept/accept-input.ts';
import type { RepairTries } from '../accept/repair-input.ts';
import { noteRepaired, repairInput } from '../accept/repair-input.ts';
import { namesArtifact } from '../input/fill-artifacts.ts';
import { clean } from '../input/clean.ts';
import { formatIssues } from '../../tool/format-issues.ts';
import { copyOf } from '../input/input-for-tool.ts';
import type { PreparedInput } from '../input/prepared-input.ts';
import { unchangedInput } from '../input/prepared-input.ts';
import { isUnchanged } from '../input/read-output.ts';
import type { AcceptedCall } from '../state/accepted-call.ts';
import { alteredStop } from '../state/altered-stop.ts';
import type { ReadyCall } from '../state/call-stages.ts';
import type { Stop } from '../state/gate.ts';

/** A call whose tool is resolved. */
export type ResolvedCall = AcceptedCall & { readonly tool: AnyTool };

/** What the validation adds to a call, or why it stops. */
export type Validated = ({ readonly type: 'ready' } & ValidInput) | Stop;
export type ValidInput = Pick<ReadyCall, 'input' | 'notes'>;

/**
 * Does the input match the schema: as it is, coerced by the listed rules, or repaired? From here on the input
 * is what the schema returned, with defaults and transforms.
 */
export function validate(live: ResolvedCall): Awaitable<Validated> {
  const { request, tool, engine } = live;
  const { input } = request;
  if (!input.ok) {
    const tries: RepairTries = { count: 0 };
    const mayMend = tool.coerce ?? engine.coerce;
    const mended = mayMend && typeof input.raw === 'string' ? readLenientJson(input.raw, 'json') : undefined;
    return mended?.ok === true && isJsonObject(mended.value)
      ? judge(live, tries, mended.value, [{ path: '$', rule: 'argument_text' }])
      : repair(live, tries, { input: input.raw, issues: [{ path: [], message: input.problem }] });
  }
  const { arguments: given } = input;
  if (namesArtifact(given)) return judge(live, { count: 0 }, given, []);
  const { input: schema } = tool;
  // Other validators may change their argument.
  const isSafe = schema.keepsValue === true || schema.isPlain === true;
  const result = schema.check(isSafe ? given : copyOf(given));
  if ('then' in result || !result.ok) return judge(live, { count: 0 }, given, []);
  if (isUnchanged(schema, given, result.value))
    return { type: 'ready', input: unchangedInput(given, live.requested), notes: noNotes };
  const accepted = { accepted: given, checked: given, output: result.value, artifacts: [] };
  return take(live, { count: 0 }, prepare(placeOf(live), requestedOf(live), accepted, []), given, []);
}

const placeOf = ({ engine, tool, sessionId, facts }: ResolvedCall): Parameters<typeof prepare>[0] => ({
  engine,
  tool,
  sessionId,
  known: facts.hidden,
});

/** Without an argument object there is no exact request. Then only the repaired arguments count. */
const requestedOf = ({ request: { input }, requested }: AcceptedCall): RequestedInput => ({
  input: input.ok ? input.arguments : {},
  kept: input.ok ? requested : { kept: {}, hidden: [], repeated: [], digest: '', secrets: requested.secrets },
});

async function judge(
  live: ResolvedCall,
  tries: RepairTries,
  input: JsonObject,
  earlier: readonly InputChange[],
): Promise<Validated> {
  return take(live, tries, await acceptInput(placeOf(live), requestedOf(live), input, true), input, earlier);
}

function take(
  live: ResolvedCall,
  tries: RepairTries,
  accepted: Acceptance,
  input: JsonObject,
  earlier: readonly InputChange[],
): Awaitable<Validated> {
  if (earlier.some(({ rule }) => rule === 'repair'))
    noteRepaired(live, tries, accepted.ok ? [] : accepted.issues);
  if (!accepted.ok) {
    if (accepted.unfilled === 'altered') return { ...alteredStop, error: alteredArtifact };
    return accepted.unfilled === undefined
      ? repair(live, tries, { input, issues: accepted.issues })
      : refuseInput(live, accepted.issues);
  }
  return toReady(live, accepted.prepared, earlier);
}

const alteredArtifact =
  'The stored content of an artifact that the arguments name was changed after it was stored. The call was not run.';

const noNotes: readonly string[] = Object.freeze([]);

function toReady(live: ResolvedCall, prepared: PreparedInput, earlier: readonly InputChange[]): Validated {
  if (earlier.length === 0 && prepared.changes.length === 0)
    return { type: 'ready', input: prepared, notes: noNotes };
  live.secrets.ofInput = prepared.effective.secrets;
  // A path consists of keys, and a key may contain a secret.
  const changes = [...earlier, ...prepared.changes].map(({ path, rule }) => ({
    path: clean(live, path),
    rule,
  }));
  const note = `Arguments were mended before the call: ${changes.map(({ path, rule }) => `${path} (${rule})`).join(', ')}.`;
  return { type: 'ready', input: { ...prepared, changes }, notes: [note] };
}

async function repair(
  live: ResolvedCall,
  tries: RepairTries,
  failed: { readonly input: JsonValue; readonly issues: readonly SchemaIssue[] },
): Promise<Validated> {
  const repaired = await repairInput(live, tries, failed);
  if (repaired === undefined) return refuseInput(live, failed.issues);
  return judge(live, tries, repaired, [{ path: '$', rule: 'repair' }]);
}

const refuseInput = (live: AcceptedCall, issues: readonly SchemaIssue[]): Stop => ({
  type: 'deny',
  reason: 'validation',
  code: 'tool.invalid_input',
  details: clean(live, formatIssues(issues)),
});
