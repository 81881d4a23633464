import { createKnownSecrets, shortestEchoed } from '../../base/known-secrets.ts';
import type { Call } from '../../call/call.ts';
import { hidesInput } from '../../call/hides-input.ts';
import type { Engine } from '../state/engine.ts';
import { readExecuted, secretsOf } from '../take-over/take-over.ts';

/** Hides in a text what is hidden in the arguments, as far as this process can open them. */
export async function hiddenCleaner(engine: Engine, call: Call): Promise<(text: string) => string> {
  const { redactor } = engine;
  if (!hidesInput(call)) return (text) => redactor.text(text);
  const known = createKnownSecrets(secretsOf(engine, call, await readExecuted(engine, call)), shortestEchoed);
  return (text) => known.text(redactor.text(text));
}
