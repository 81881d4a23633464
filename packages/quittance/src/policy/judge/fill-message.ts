/**
 * Fills in a rule's message for one call: `{selector}` becomes its value, or stays as written if there is none.
 * Values are inserted once, so a value that looks like a selector is not expanded. Secrets are masked by their form
 * and by their name.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { defineMember } from '../../base/json.ts';
import type { Redactor } from '../../base/redaction.ts';
import { cutText } from '../../base/cut-text.ts';
import { visibleForeignText, visibleValue } from '../../base/safe-text.ts';
import type { Selector } from '../language/expression.ts';
import type { OutputView } from './output-view.ts';
import { parseSelector } from '../read/parse-selector.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import type { Select } from './compile-selector.ts';
import { compileSelector } from './compile-selector.ts';

export type FillMessage = (call: PolicyCall, output: OutputView | undefined) => string;

const mostOfMessage = 500;
const mostOfValue = 200;
/** Masking examines more text than is shown, because half a secret does not look like one. */
const mostLookedAt = 20_000;

type Part = string | { readonly selector: Selector; readonly select: Select };

export function compileMessage(message: string, world: PolicyWorld, redactor: Redactor): FillMessage {
  const parts = readParts(message, world);
  if (parts.every((part) => typeof part === 'string')) {
    const fixed = cutText(message, mostOfMessage);
    return () => fixed;
  }
  return (call, output) => {
    let filled = '';
    for (const part of parts)
      filled +=
        typeof part === 'string' ? part : fillPart(part.selector, part.select, call, output, redactor);
    return tidyMessage(filled, redactor);
  };
}

/** A message made by code: masked and cut, never filled in. */
export const tidyMessage = (message: string, redactor: Redactor): string =>
  cutText(redactor.text(cutText(message, mostLookedAt)), mostOfMessage);

/** The selectors in a message. */
export const selectorsIn = (message: string, world: PolicyWorld): readonly Selector[] =>
  readParts(message, world).flatMap((part) => (typeof part === 'string' ? [] : [part.selector]));

function readParts(message: string, world: PolicyWorld): readonly Part[] {
  const hostPrefixes = new Set(Object.keys(world.selectors));
  // Every second piece is in braces.
  return message.split(/(\{[^{}]*\})/).map((piece, index) => {
    if (index % 2 === 0) return piece;
    const reading = parseSelector(piece.slice(1, -1), hostPrefixes);
    if (!reading.ok) return piece;
    return { selector: reading.selector, select: compileSelector(reading.selector, world) };
  });
}

function fillPart(
  selector: Selector,
  select: Select,
  call: PolicyCall,
  output: OutputView | undefined,
  redactor: Redactor,
): string {
  const asWritten = `{${selector.text}}`;
  try {
    const value = select(call, output);
    if (value === undefined) return asWritten;
    const shown = maskSelected(
      selector,
      typeof value === 'string' ? cutText(value, mostLookedAt) : value,
      redactor,
    );
    // Cut first, so that the quotes around a value always close.
    return typeof shown === 'string'
      ? visibleValue(cutText(shown, mostOfValue - 2))
      : visibleForeignText(cutText(JSON.stringify(shown), mostOfValue));
  } catch {
    // A host's resolver threw, or returned a value that is not JSON.
    return asWritten;
  }
}

/** Puts the value back under its path, so that `{args.db.password}` is masked by name. */
export function maskSelected({ path }: Selector, value: JsonValue, redactor: Redactor): JsonValue {
  const wrapped = path.reduceRight((inner: JsonValue, key) => {
    const holder: { [key: string]: JsonValue } = {};
    defineMember(holder, key, inner);
    return holder;
  }, value);
  const { value: kept, hidden } = redactor.input(wrapped);
  if (hidden.length === 0) return value;
  let at: JsonValue | undefined = kept;
  for (const _ of path) {
    // One of the names marked a secret: everything below it is masked.
    if (typeof at !== 'object' || at === null) break;
    at = Object.values(at as JsonObject)[0];
  }
  return at ?? value;
}
