/**
 * What a person typed into a form, as typed: nothing is lost while a field does not parse yet.
 *
 * 1. `toDraft` then `readFormDraft` returns the same value, whatever the schema says about it.
 * 2. A field that is left out stays left out; an optional field that is emptied is left out.
 */
import type { JsonObject, JsonPath, JsonValue } from 'quittance/internal/base/json';
import { defineMember, isJsonObject, parseJson } from 'quittance/internal/base/json';
import { escapeJson } from 'quittance/internal/base/safe-text';
import { prettyJson } from 'quittance/internal/view/pretty-json';
import type { FormField } from './form-field.ts';

export type FormDraft =
  | { readonly kind: 'left_out' }
  | { readonly kind: 'null' }
  /** Text of a text, number or JSON field. */
  | { readonly kind: 'typed'; readonly text: string }
  /** A value that needs no typing: a flag or a choice. */
  | { readonly kind: 'chosen'; readonly value: JsonValue }
  | {
      readonly kind: 'members';
      readonly members: ReadonlyMap<string, FormDraft>;
      /** JSON text of members that the schema does not list. */
      readonly others: string;
    }
  | { readonly kind: 'items'; readonly items: readonly FormDraft[] }
  /** JSON text instead of the field: the value has another type than the schema says. */
  | { readonly kind: 'json'; readonly text: string };

export type FieldProblem = { readonly path: JsonPath; readonly message: string };

export type FormReading =
  | { readonly ok: true; readonly value: JsonValue | undefined }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

export const leftOut: FormDraft = { kind: 'left_out' };

export function toDraft(field: FormField, value: JsonValue | undefined): FormDraft {
  if (value === undefined) return leftOut;
  if (value === null) return { kind: 'null' };
  const asJson: FormDraft = { kind: 'json', text: prettyJson(value) };
  switch (field.kind) {
    case 'text':
      return typeof value === 'string' && isPlain(value) ? { kind: 'typed', text: value } : asJson;
    case 'number':
      return typeof value === 'number' ? { kind: 'typed', text: String(value) } : asJson;
    case 'flag':
      return typeof value === 'boolean' ? { kind: 'chosen', value } : asJson;
    case 'choice':
      return field.choices.some((choice) => isSameJson(choice, value)) ? { kind: 'chosen', value } : asJson;
    case 'list':
      return Array.isArray(value)
        ? { kind: 'items', items: value.map((item: JsonValue) => toDraft(field.item, item)) }
        : asJson;
    case 'object': {
      if (!isJsonObject(value)) return asJson;
      const named = new Set(field.members.map(({ name }) => name));
      const others = Object.fromEntries(Object.entries(value).filter(([name]) => !named.has(name)));
      return {
        kind: 'members',
        members: new Map(
          field.members.map((member) => [
            member.name,
            Object.hasOwn(value, member.name)
              ? toDraft(member.field, value[member.name])
              : // There is no choice but to fill it in.
                toDraft(member.field, member.isRequired && member.field.kind === 'object' ? {} : undefined),
          ]),
        ),
        others: Object.keys(others).length === 0 ? '' : prettyJson(others),
      };
    }
    case 'json':
      return { kind: 'typed', text: prettyJson(value) };
  }
}

/** Reads a whole draft. `isRequired`: may the value not be left out? */
export function readFormDraft(field: FormField, draft: FormDraft, isRequired = true): FormReading {
  const problems: FieldProblem[] = [];
  const value = read(field, draft, isRequired, [], problems);
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems };
}

function read(
  field: FormField,
  draft: FormDraft,
  isRequired: boolean,
  path: JsonPath,
  problems: FieldProblem[],
): JsonValue | undefined {
  const refuse = (message: string): undefined => {
    problems.push({ path, message });
  };
  switch (draft.kind) {
    case 'left_out':
      return isRequired ? refuse('This field is required.') : undefined;
    case 'null':
      return null;
    case 'chosen':
      return draft.value;
    case 'json':
      return readText(draft.text, refuse);
    case 'items': {
      const item: FormField =
        field.kind === 'list' ? field.item : { kind: 'json', description: undefined, isNullable: true };
      return draft.items.map((each, index) => read(item, each, true, [...path, index], problems) ?? null);
    }
    case 'members':
      return readMembers(field, draft, path, problems);
    case 'typed':
      if (field.kind === 'number') return readNumber(field, draft.text, refuse);
      if (field.kind === 'text') return readLength(field, draft.text, refuse);
      return readText(draft.text, refuse);
  }
}

function readMembers(
  field: FormField,
  draft: Extract<FormDraft, { readonly kind: 'members' }>,
  path: JsonPath,
  problems: FieldProblem[],
): JsonObject {
  const value: { [name: string]: JsonValue } = {};
  for (const member of field.kind === 'object' ? field.members : []) {
    const { name } = member;
    const each = draft.members.get(name) ?? leftOut;
    const found = read(member.field, each, member.isRequired, [...path, name], problems);
    if (found !== undefined) defineMember(value, name, found);
  }
  if (draft.others.trim() === '') return value;
  const others = parseJson(draft.others);
  if (!others.ok) problems.push({ path: [...path, ''], message: `Not JSON: ${others.problem}.` });
  else if (!isJsonObject(others.value))
    problems.push({ path: [...path, ''], message: 'Other fields must be a JSON object.' });
  else for (const [name, found] of Object.entries(others.value)) defineMember(value, name, found);
  return value;
}

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function readNumber(
  { isInteger, minimum, maximum }: Extract<FormField, { readonly kind: 'number' }>,
  text: string,
  refuse: (message: string) => undefined,
): number | undefined {
  const value = Number(text);
  if (!numberText.test(text.trim()) || !Number.isFinite(value))
    return refuse(isInteger ? 'Enter a whole number.' : 'Enter a number.');
  if (isInteger && !Number.isInteger(value)) return refuse('Enter a whole number.');
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return refuse('This number is too large to be sent exactly.');
  if (value < minimum) return refuse(`Enter ${minimum} or more.`);
  if (value > maximum) return refuse(`Enter ${maximum} or less.`);
  return value;
}

function readLength(
  { minLength, maxLength }: Extract<FormField, { readonly kind: 'text' }>,
  text: string,
  refuse: (message: string) => undefined,
): string | undefined {
  // JSON Schema counts code points.
  const { length } = Array.from(text);
  if (length < minLength) return refuse(`Enter at least ${minLength} characters.`);
  return length > maxLength ? refuse(`Enter at most ${maxLength} characters.`) : text;
}

function readText(text: string, refuse: (message: string) => undefined): JsonValue | undefined {
  const found = parseJson(text);
  return found.ok ? found.value : refuse(`Not JSON: ${found.problem}.`);
}

/** Can a text field show the text as it is? Invisible and misleading characters are shown as JSON escapes instead. */
function isPlain(text: string): boolean {
  const quoted = JSON.stringify(text);
  return escapeJson(quoted) === quoted && !/[^\P{Cc}\n\t]/u.test(text);
}

const isSameJson = (one: JsonValue, other: JsonValue): boolean =>
  one === other || JSON.stringify(one) === JSON.stringify(other);
