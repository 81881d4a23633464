/**
 * Removes secrets from text that is about to be stored or returned: values that the redactor finds, and
 * values hidden in the input, wherever a tool, a rule or a person echoed them.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Redactor } from '../../base/redaction.ts';
import type { AnyTool } from '../../tool/define-tool.ts';
import type { CallSecrets } from './call-secrets.ts';

/** The part of a call that determines what must be hidden. */
export type CallWithSecrets = {
  readonly engine: { readonly redactor: Redactor };
  readonly tool: AnyTool | undefined;
  readonly secrets: CallSecrets;
};

export const clean = ({ engine, secrets }: CallWithSecrets, text: string): string =>
  secrets.known.text(engine.redactor.text(text));

export function cleanObject({ engine, secrets }: CallWithSecrets, value: JsonObject): JsonObject {
  const { value: kept, secrets: found } = engine.redactor.input(value);
  secrets.learn(found);
  return secrets.known.json(kept) as JsonObject; // neither step turns an object into anything else
}

export function cleanOutput({ engine, secrets, tool }: CallWithSecrets, output: JsonValue): JsonValue {
  const redacted = engine.redactor.hideInOutput(output, tool?.redact?.output);
  if (redacted === undefined) return secrets.known.json(output);
  secrets.learn(redacted.secrets);
  return secrets.known.json(redacted.value);
}

/** The state of a workflow without secrets. Its keys are names of stages and tools, not secrets. */
export function cleanState({ engine, secrets }: CallWithSecrets, state: JsonObject): JsonObject {
  const { value: kept } = engine.redactor.output(state);
  return secrets.known.json(kept) as JsonObject; // neither step turns an object into anything else
}
