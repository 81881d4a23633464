/** The state of a form for JSON arguments: by fields, or as one JSON text. Both keep what was typed. */
import { useMemo, useState } from 'react';
import type { JsonObject } from 'quittance/internal/base/json';
import { isJsonObject, parseJson } from 'quittance/internal/base/json';
import { editableJson } from 'quittance/internal/view/pretty-json';
import type { FieldProblem, FormDraft } from './form-draft.ts';
import { readFormDraft, toDraft } from './form-draft.ts';
import type { FormField } from './form-field.ts';
import { toFormField } from './form-field.ts';

export type ArgumentsReading =
  | { readonly ok: true; readonly value: JsonObject }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] };

export type SchemaFormState = {
  /** Undefined without a schema: the arguments can be entered only as JSON. */
  readonly field: FormField | undefined;
  readonly way: 'fields' | 'json';
  readonly draft: FormDraft;
  /** The JSON text, if that is how the arguments are entered. */
  readonly text: string;
  /** The arguments, or the problems of single fields. */
  readonly reading: ArgumentsReading;
  /** Do the arguments differ from those the form began with? */
  readonly isChanged: boolean;
  readonly changeDraft: (draft: FormDraft) => void;
  readonly changeText: (text: string) => void;
  /** Switches between fields and JSON. Fields can take over only JSON that parses. */
  readonly switchTo: (way: 'fields' | 'json') => void;
};

export function useSchemaForm(schema: JsonObject | undefined, initial: JsonObject): SchemaFormState {
  // A new schema with the same content must not discard what was typed.
  const key = JSON.stringify(schema) ?? '';
  const field = useMemo(() => (schema === undefined ? undefined : toObjectForm(schema)), [key]);
  const [began] = useState(initial);
  const [way, setWay] = useState<'fields' | 'json'>('fields');
  const [draft, setDraft] = useState<FormDraft>();
  const [text, setText] = useState(() => editableJson(initial));
  const shown = draft ?? (field === undefined ? { kind: 'json', text } : toDraft(field, began));
  const asJson = way === 'json' || field === undefined;
  const reading = asJson ? readObject(text) : readFields(field, shown);
  return {
    field,
    way: asJson ? 'json' : 'fields',
    draft: shown,
    text,
    reading,
    isChanged: !reading.ok || JSON.stringify(reading.value) !== JSON.stringify(began),
    changeDraft: setDraft,
    changeText: setText,
    switchTo: (next) => {
      if (next === 'json' && reading.ok) setText(editableJson(reading.value));
      if (next === 'fields') {
        if (!reading.ok || field === undefined) return;
        setDraft(toDraft(field, reading.value));
      }
      setWay(next);
    },
  };
}

function toObjectForm(schema: JsonObject): FormField | undefined {
  const field = toFormField(schema);
  return field.kind === 'object' ? field : undefined;
}

function readFields(field: FormField, draft: FormDraft): ArgumentsReading {
  const read = readFormDraft(field, draft);
  if (!read.ok) return read;
  return isJsonObject(read.value) ? { ok: true, value: read.value } : notObject;
}

function readObject(text: string): ArgumentsReading {
  const read = parseJson(text);
  if (!read.ok) return { ok: false, problems: [{ path: [], message: `Not JSON: ${read.problem}.` }] };
  return isJsonObject(read.value) ? { ok: true, value: read.value } : notObject;
}

const notObject: ArgumentsReading = {
  ok: false,
  problems: [{ path: [], message: 'Arguments must be a JSON object.' }],
};
