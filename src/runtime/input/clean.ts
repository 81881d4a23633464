/**
 * What is about to be kept or told of a call, without what the redactor hides and without what was hidden in its
 * input, wherever a tool, a rule or a person echoed it.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { KnownSecrets } from '../../base/known-secrets.ts';
import { createKnownSecrets, shortestEchoed } from '../../base/known-secrets.ts';
import type { Redactor } from '../../base/redaction.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { CallerFacts } from './caller-facts.ts';
import type { KeptInput } from './kept-input.ts';
import type { PreparedInput } from './prepared-input.ts';
import type { Snapshot } from './snapshot.ts';

/** As much of a call in hand as tells what has to be hidden. */
export type CallWithSecrets = {
  readonly engine: { readonly redactor: Redactor };
  readonly tool: AnyTool | undefined;
  readonly requested: KeptInput;
  readonly prepared: PreparedInput | undefined;
  readonly snapshot: Snapshot | undefined;
  readonly facts: CallerFacts;
  /** What the tool itself gave that had to be hidden: from then on it is hidden everywhere. */
  givenSecrets: readonly string[];
  /** What is hidden, ready to be looked for: made once for everything it is made of. */
  knownSecrets: { readonly of: readonly (readonly string[])[]; readonly known: KnownSecrets } | undefined;
};

export const clean = (call: CallWithSecrets, text: string): string =>
  knownSecrets(call).text(call.engine.redactor.text(text));

export function cleanObject(call: CallWithSecrets, value: JsonObject): JsonObject {
  const { value: kept, secrets } = call.engine.redactor.input(value);
  remember(call, secrets);
  return knownSecrets(call).json(kept) as JsonObject; // neither makes an object anything else
}

export function cleanOutput(call: CallWithSecrets, output: JsonValue): JsonValue {
  const { value: kept, secrets } = call.engine.redactor.output(output, call.tool?.redact?.output);
  remember(call, secrets);
  return knownSecrets(call).json(kept);
}

/** What a workflow was shown, without what is hidden. Its keys are names of stages and tools, not of secrets. */
export function cleanState(call: CallWithSecrets, state: JsonObject): JsonObject {
  const { value: kept } = call.engine.redactor.output(state);
  return knownSecrets(call).json(kept) as JsonObject; // neither makes an object anything else
}

/** A tool that gives more of them hides them where they stand. */
const mostGivenSecrets = 200;

function remember(call: CallWithSecrets, secrets: readonly string[]): void {
  if (secrets.length === 0 || call.givenSecrets.length >= mostGivenSecrets) return;
  const known = new Set(call.givenSecrets);
  const added = secrets.filter((secret) => !known.has(secret) && secret.length >= shortestEchoed);
  if (added.length > 0) call.givenSecrets = [...call.givenSecrets, ...added].slice(0, mostGivenSecrets);
}

/** Of the input as it came and as it was mended, of the snapshot, of what the caller said beside it, of the tool. */
export function knownSecrets(call: CallWithSecrets): KnownSecrets {
  const { facts, requested, prepared, snapshot, givenSecrets } = call;
  const of = [
    facts.hidden,
    requested.secrets,
    prepared?.effective.secrets ?? none,
    snapshot?.hiddenValues ?? none,
    givenSecrets,
  ];
  const last = call.knownSecrets;
  if (last !== undefined && of.every((values, index) => values === last.of[index])) return last.known;
  const known = createKnownSecrets(of.flat(), shortestEchoed);
  call.knownSecrets = { of, known };
  return known;
}

const none: readonly string[] = Object.freeze([]);
