/**
 * Makes arguments match their schema by the listed rules, or reports that they do not.
 *
 * 1. Only failing values are touched: every trial is at a path that the schema reported.
 * 2. A trial stays only if the schema stops reporting that path, or reports a path inside it.
 * 3. A value is never replaced if its own type is allowed. So nothing changes where the allowed types are unknown.
 * 4. The result was checked as a whole, and is a separate copy.
 *
 * All failing paths are tried at once, so the number of checks depends on the rules and the nesting, not on the
 * number of mistakes.
 */
import type { Awaitable, JsonObject, JsonPath, JsonValue } from '../base/json.ts';
import { formatPath, toJson, isJsonObject } from '../base/json.ts';
import { allowedTypes, everyType } from './allowed-types.ts';
import { editJson, valueAt } from './json-edit.ts';
import type { JsonType } from './json-type.ts';
import { jsonTypeOf } from './json-type.ts';
import type { CompiledSchema, SchemaCheck, SchemaIssue } from './schema.ts';
import { whenReady } from '../base/deadlines.ts';
import { readLenientJson } from '../base/lenient-json.ts';

/** The name of a rule, as recorded with a call. */
export type CoercionRule =
  | 'numeric_string'
  | 'boolean_string'
  | 'json_string'
  | 'single_to_array'
  | 'null_dropped';

/** The replacement that a rule proposes: another value, or nothing. */
export type CoercionProposal =
  | { readonly type: 'replace'; readonly value: JsonValue }
  | { readonly type: 'drop' };

export type CoercionRuleRow = {
  readonly name: CoercionRule;
  /** Describes the rule for people. */
  readonly sentence: string;
  /** The rule's proposal for a value; undefined if it does not apply. */
  readonly propose: (value: JsonValue) => CoercionProposal | undefined;
};

/**
 * All changes that may be made to arguments that do not match their schema, in the order of trials. The input already
 * contains every resulting value: nothing is guessed, and nothing is ever converted to text.
 */
export const coercionRules: readonly CoercionRuleRow[] = Object.freeze([
  Object.freeze({
    name: 'numeric_string',
    sentence: 'A string that is a JSON number becomes that number, if no digit is lost.',
    propose: (value) => (typeof value === 'string' ? replaceBy(readNumber(value)) : undefined),
  }),
  Object.freeze({
    name: 'boolean_string',
    sentence: 'The strings true and false, in any case, become the boolean.',
    propose: (value) =>
      typeof value === 'string' && /^(?:true|false)$/i.test(value)
        ? replaceBy(value.toLowerCase() === 'true')
        : undefined,
  }),
  Object.freeze({
    name: 'json_string',
    sentence:
      'A string that is a JSON object or array becomes that object or array. A code fence, a trailing ' +
      'comma and Python syntax are accepted.',
    propose: (value) => (typeof value === 'string' ? replaceBy(readContainer(value)) : undefined),
  }),
  Object.freeze({
    name: 'single_to_array',
    sentence:
      'If only an array is allowed, a number or a text of one plain word becomes an array with that one ' +
      'value. A word that may mean a list, a range, none, all or a placeholder does not, nor do 0 and -1.',
    propose: (value) => (isOneValue(value) ? replaceBy([value]) : undefined),
  }),
  Object.freeze({
    name: 'null_dropped',
    sentence: 'A null in an optional field is omitted.',
    propose: (value) => (value === null ? { type: 'drop' } : undefined),
  }),
] satisfies readonly CoercionRuleRow[]);

const replaceBy = (value: JsonValue | undefined): CoercionProposal | undefined =>
  value === undefined ? undefined : { type: 'replace', value };

/**
 * Can a value in the place of an array only mean one element? If a person might doubt it, the model is asked again.
 * Scripts that write several words without a space are doubtful too.
 */
function isOneValue(value: JsonValue): boolean {
  const number = typeof value === 'string' ? readNumber(value) : value;
  if (typeof number === 'number') return number !== 0 && number !== -1;
  if (typeof value !== 'string' || !plainWord.test(value)) return false;
  const parts = value
    .normalize('NFKC')
    .toLowerCase()
    .split(/[_.@-]/);
  const whole = parts.join('');
  return (
    !doubtfulWholes.has(whole) &&
    ![whole, ...parts].some((part) => doubtfulWords.has(part) || pronoun.test(part)) &&
    !parts.slice(1, -1).some((part) => joiningWords.has(part)) &&
    !isRange(parts)
  );
}

/** Letters and digits, and single `_`, `.`, `@` or `-` between them: a name, an id, a file name, a mail address. */
const plainWord = /^[\p{Script=Latin}\d]+(?:[_.@-][\p{Script=Latin}\d]+)*$/u;

/** `1-3`, `a-f`, `mon-fri`, `january-march`. */
const isRange = (parts: readonly string[]): boolean =>
  parts.length === 2 &&
  [/^\d+$/, /^\p{L}$/u, weekday, month].some((end) => parts.every((part) => end.test(part)));
const weekday = /^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?$/;
const month =
  /^(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)$/;

/**
 * Words for none, all, several and others, also as a part of a text. Models write the language of their user, so each
 * row is one of the languages that are written in Latin letters. Other scripts are never one plain word.
 */
const doubtfulWords = wordsOf(
  'no|non|none|nope|not|nil|nul|null|nullptr|undefined|undetermined|unset|absent|blank|empty',
  'all|and|any|both|each|either|else|etc|every|except|neither|or|others|same|several|to|whatever',
  'alle|alles|beide|beides|entfällt|jede|jedem|jeden|jeder|jedermann|jedes|kein|keine|keinen|keiner|keins|leer|mehrere|nichts|' +
    'nie|niemand|oder|sonstige|und|weitere',
  'aucun|aucune|bis|chacun|chaque|et|néant|ou|personne|plus|plusieurs|quelconque|rien|tous|tout|toutes|vide',
  'alguno|ambas|ambos|cada|nada|nadie|ninguna|ningunas|ninguno|ningunos|ningún|todas|todos|varias|varios|vacio|vacía|' +
    'vacías|vacío|vacíos',
  'entrambi|nessun|nessuna|nessuno|niente|nulla|tutte|tutti|tutto|vuota|vuoto',
  'ambas|nenhum|nenhuma|ninguém|tudo|vazia|vazio|vários|várias',
  'allemaal|geen|iedereen|leeg|niemand|niets',
  'alla|allihopa|allt|begge|både|båda|ingen|inga|inget|ingenting|intet|och|og|samtliga|tomt',
  'brak|nic|nikt|niczego|oba|oraz|wszyscy|wszystkich|wszystkie|wszystko|żaden|żadna|żadne|lub',
  'nebo|nikdo|ništa|prázdné|prázdný|všechno|všechny|všichni|žádná|žádné|žádný|svi|sve|nijedan|nijedna',
  'boş|hepsi|herkes|herkesi|hiç|hiçbir|hiçbiri|tümü|tüm|veya|yok',
  'atau|kosong|semua|semuanya|tidakada|tiada',
  'không|trống',
  'egyik|mind|minden|mindenki|mindet|nincs|semmi|senki|összes|üres',
  'fiecare|niciun|niciuna|niciunul|nimeni|nimic|toate|toți',
  'ei|eikä|kaikki|kukaan|mitään|molemmat|tai|tyhjä|kõik|mitte|puudub',
);

const pronoun = /^(?:any|every|no|some)(?:body|one|thing)$/;

/** Words in the place of a value, and answers to yes or no. They may be parts of names. */
const doubtfulWholes = wordsOf(
  'array|asabove|auto|automatic|default|ditto|dummy|emptylist|example|false|few|ignore|item|items|list|many|maybe|' +
    'missing|most|multiple|n|na|nan|nochange|notset|novalue|object|off|ok|okay|on|optional|other|pending|placeholder|' +
    'remaining|rest|sample|seeabove|self|skip|some|string|tba|tbd|text|todo|true|unchanged|unknown|unspecified|value|' +
    'values|various|void|x|xx|xxx|y|yes',
  'andere|falsch|fehlt|ja|nein|ohne|sowie|unbekannt|wahr',
  'autres|faux|inconnu|inconnue|liste|oui|sans|vrai',
  'desconocida|desconocido|falso|otros|sin|sí|si',
  'altri|sconosciuto|senza|sì|vari',
  'desconhecido|não|nao|outros|sem|sim',
  'nee|onbekend|overige',
  'inte|ja|nej|nei|okänd|ukjent|ukendt',
  'nie|nieznany|tak|ano|ne|neznámý|neznámé',
  'bilinmiyor|evet|hayır|her',
  'tidak|ya',
  'có',
  'igen|nem|ismeretlen|da|nu|necunoscut|gol|tot',
  'kyllä|tuntematon',
);

/** Words for and, or, to between two others. Alone they may be a language, a unit or a name. */
const joiningWords = wordsOf(
  'a|alebo|albo|and|as|az|bis|dan|e|ed|en|és|et|i|ili|in|ja|jeung|lub|ně|ni|o|och|oder|og|or|ou|och|oraz|sau|si|' +
    'și|sowie|tai|thru|through|till|to|u|und|until|va|vagy|và|ve|veya|y',
);

function wordsOf(...lists: readonly string[]): ReadonlySet<string> {
  return new Set(lists.flatMap((list) => list.split('|')));
}

/** A number exactly as written: by the grammar of JSON, without rounding. */
function readNumber(text: string): number | undefined {
  const written = decimalOf(text);
  if (written === undefined) return undefined;
  const value = Number(text);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) return undefined;
  return decimalOf(String(value)) === written ? value : undefined;
}

/**
 * One spelling for every way to write a decimal number: `1.50` and `15e-1` are `15e-1`. Undefined if it is not one.
 */
function decimalOf(text: string): string | undefined {
  const parts = /^(-?)(0|[1-9]\d{0,400})(?:\.(\d{1,400}))?(?:[eE]([+-]?\d{1,4}))?$/.exec(text);
  if (parts === null) return undefined;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = parts;
  const digits = (whole + fraction).replace(/^0+/, '');
  const significant = digits.replace(/0+$/, '');
  const power = Number(exponent) - fraction.length + (digits.length - significant.length);
  return significant === '' ? `${sign}0` : `${sign}${significant}e${power}`;
}

/** The object or array in a JSON text; a scalar in quotes stays as it is. */
function readContainer(text: string): JsonValue | undefined {
  if (!/^(?:\uFEFF|\s)*(?:```|[{[])/.test(text)) return undefined;
  const reading = readLenientJson(text, 'python');
  return reading.ok && (isJsonObject(reading.value) || Array.isArray(reading.value))
    ? reading.value
    : undefined;
}

/** One change, and the rule that made it. */
export type CoercionChange = { readonly path: string; readonly rule: CoercionRule };

/** The repaired arguments, the schema's output and the changes; or the remaining issues. */
export type Coercion =
  | {
      readonly ok: true;
      readonly input: JsonObject;
      readonly value: unknown;
      readonly changes: readonly CoercionChange[];
    }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

export type CoerceOptions = {
  /** Nothing is changed at or below these paths. */
  readonly frozenPaths?: readonly JsonPath[];
};

/** Most checks spent on trials. Values nested deeper in strings stay as they were sent. */
const mostPasses = 16;

type Trial = {
  readonly path: JsonPath;
  readonly key: string;
  readonly rule: CoercionRule;
  /** The replacement; undefined if the rule removes the key. */
  readonly value: JsonValue | undefined;
};

/** The state between two passes. */
type Progress = {
  readonly input: JsonObject;
  readonly failing: readonly JsonPath[];
  readonly kept: readonly Trial[];
  /** The trials made, as `rule key`: none is repeated at one place. */
  readonly tried: ReadonlySet<string>;
  readonly passes: number;
};

/** Coerces arguments that a schema rejected. Does not modify them; returns a new object. */
export function coerce(
  input: JsonObject,
  schema: CompiledSchema,
  { frozenPaths = [] }: CoerceOptions = {},
): Awaitable<Coercion> {
  const frozen = new Set(frozenPaths.map(keyOf));

  const start = (first: SchemaCheck): Awaitable<Coercion> => {
    const begun: Progress = {
      input: editJson(input, []),
      failing: first.ok ? [] : first.issues.map(({ path }) => path),
      kept: [],
      tried: new Set(),
      passes: 0,
    };
    return whenReady(advance(begun), (done) => finish(done, first));
  };

  const advance = (progress: Progress): Awaitable<Progress> => {
    const trials = progress.passes < mostPasses ? proposeTrials(progress, schema, frozen) : [];
    if (trials.length === 0) return progress;
    const draft = editJson(progress.input, trials);
    return whenReady(schema.check(draft), (result) => {
      const failing = result.ok ? [] : result.issues.map(({ path }) => path);
      const failingKeys = new Set(failing.map(keyOf));
      const standing = trials.filter(({ key }) => !failingKeys.has(key));
      const rejected = trials.filter(({ key }) => failingKeys.has(key));
      return advance(conclude(progress, standing, rejected, failing));
    });
  };

  const finish = (done: Progress, first: SchemaCheck): Awaitable<Coercion> => {
    const issues = first.ok ? [] : first.issues;
    // The schema's output goes to the body, which may change it, so it must share nothing with the input.
    const copy = toJson(done.input);
    if (!copy.ok) return { ok: false, issues: [...issues, { path: copy.path, message: copy.problem }] };
    return whenReady(schema.check(copy.value), (last): Coercion => {
      if (!last.ok) return { ok: false, issues: (issues.length > 0 ? issues : last.issues).map(withExample) };
      const changes = done.kept.map(({ path, rule }) => ({ path: formatPath(path), rule }));
      return { ok: true, input: done.input, value: last.value, changes };
    });
  };

  /** A scalar in the place of a list may mean several values or none: the message shows the model how to write them. */
  const withExample = (issue: SchemaIssue): SchemaIssue => {
    const { path, message } = issue;
    const own = jsonTypeOf(valueAt(input, path));
    if (schema.types === undefined || own === undefined || own === 'object' || own === 'array') return issue;
    const types = allowedTypes(schema.types, path, input);
    if (!types.has('array') || types.has(own)) return issue;
    const items = allowedTypes(schema.types, [...path, 0], input);
    const example = items.has('string')
      ? ', such as ["first", "second"]'
      : items.has('number')
        ? ', such as [1, 2]'
        : '';
    return { ...issue, message: `${message}; send a JSON array${example}, or [] for none` };
  };

  return whenReady(schema.check(input), start);
}

/** One trial for every failing path with a remaining rule. */
function proposeTrials(
  { input, failing, tried }: Progress,
  schema: CompiledSchema,
  frozen: ReadonlySet<string>,
): readonly Trial[] {
  const trials = new Map<string, Trial>();
  for (const path of failing) {
    const key = keyOf(path);
    // Everything in JSON data is JSON.
    const value = valueAt(input, path) as JsonValue | undefined;
    if (value === undefined || trials.has(key) || path.length === 0 || isUnder(path, frozen)) continue;
    const types = allowedTypes(schema.types ?? true, path, input);
    for (const { name: rule, propose } of coercionRules) {
      const proposal = tried.has(`${rule} ${key}`) ? undefined : propose(value);
      if (proposal === undefined || !isAdmissible(rule, proposal, value, path, types)) continue;
      trials.set(key, { path, key, rule, value: proposal.type === 'drop' ? undefined : proposal.value });
      break;
    }
  }
  return [...trials.values()];
}

/** May a proposal be tried at all, by what the schema allows there? */
function isAdmissible(
  rule: CoercionRule,
  proposal: CoercionProposal,
  value: JsonValue,
  path: JsonPath,
  types: ReadonlySet<JsonType>,
): boolean {
  // An element of an array is not a field.
  const isField = typeof path.at(-1) === 'string';
  switch (proposal.type) {
    case 'drop':
      // An undeclared key is not an optional field.
      return isField && types.size > 0 && types.size < everyType.size;
    case 'replace': {
      const type = jsonTypeOf(proposal.value);
      const own = jsonTypeOf(value);
      if (type === undefined || !types.has(type) || (own !== undefined && types.has(own))) return false;
      // `[1, 2]` for a list of lists more likely means one list. `yes` for a list or a boolean may mean the boolean.
      return rule !== 'single_to_array' || (isField && types.isSubsetOf(listOrNull));
    }
  }
}

const listOrNull: ReadonlySet<JsonType> = new Set(['array', 'null']);

/** Keeps successful trials, reverts the others, and returns the paths that still fail. */
function conclude(
  progress: Progress,
  kept: readonly Trial[],
  rejected: readonly Trial[],
  failing: readonly JsonPath[],
): Progress {
  const takenBack = new Set(rejected.map(({ key }) => key));
  return {
    input: editJson(progress.input, kept),
    failing: [...rejected.map(({ path }) => path), ...failing.filter((path) => !isUnder(path, takenBack))],
    kept: [...progress.kept, ...kept],
    tried: progress.tried.union(new Set([...kept, ...rejected].map(({ rule, key }) => `${rule} ${key}`))),
    passes: progress.passes + 1,
  };
}

const keyOf = (path: JsonPath): string => JSON.stringify(path);

/** True if the path, or one above it, is among the keys. */
const isUnder = (path: JsonPath, keys: ReadonlySet<string>): boolean =>
  keys.size > 0 && (keys.has('[]') || path.some((_, index) => keys.has(keyOf(path.slice(0, index + 1)))));
