/**
 * Reads a document field by field and collects all its problems.
 *
 * 1. No method throws. A method that does not find what it expects adds a problem and returns undefined. The reader
 *    continues with the next field, and the caller checks the problems at the end.
 * 2. Every object is closed: an unknown key is a problem.
 * 3. Every problem names the field by the current word of the language, even if the document uses an older one.
 */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import { isJsonObject } from '../../base/json.ts';
import { nearestNames, quote } from '../../base/nearest.ts';
import type { DocumentEntry, DocumentNode } from './document-node.ts';
import { jsonFromNode } from './document-node.ts';
import { listWords, describeNode, isQuotable } from './describe-node.ts';
import type { DocumentReading, TextLimits, OlderWords } from './document-reading.ts';
import type { ObjectShape } from '../language/rule-shape.ts';
import { keysOf } from '../language/rule-shape.ts';

const noOlderWords: OlderWords = Object.freeze({});

/** A value of a document, with its position. */
export class DocumentReader {
  readonly node: DocumentNode;
  readonly reading: DocumentReading;
  /** The last word of the field as the language spells it, e.g. `message`; `rules[2]` for an item. */
  readonly name: string;
  readonly #parent: DocumentReader | undefined;
  /** As the document spells it; a number for an item. Undefined for the document itself. */
  readonly #step: string | number | undefined;
  readonly #offset: number | undefined;

  constructor(
    node: DocumentNode,
    reading: DocumentReading,
    at?: {
      readonly parent: DocumentReader;
      readonly step: string | number;
      readonly name: string;
      readonly offset?: number | undefined;
    },
  ) {
    this.node = node;
    this.reading = reading;
    this.name = at?.name ?? 'document';
    this.#parent = at?.parent;
    this.#step = at?.step;
    this.#offset = at?.offset ?? node.offset;
  }

  /** From the root, e.g. `rules[2].then.message`; empty for the document itself. */
  get field(): string {
    const before = this.#parent?.field ?? '';
    if (this.#step === undefined) return before;
    if (typeof this.#step === 'number') return `${before}[${this.#step}]`;
    const plain = /^[\w.:*?-]{1,128}$/.test(this.#step);
    return plain ? `${before}${before === '' ? '' : '.'}${this.#step}` : `${before}[${quote(this.#step)}]`;
  }

  /** From 1; undefined if the document did not come as text. */
  get line(): number | undefined {
    return this.#offset === undefined ? undefined : this.reading.locate(this.#offset).line;
  }

  /** Adds a problem with this value. Returns undefined, for `return this.refuse(…)`. */
  refuse(message: string): undefined {
    const place = this.#offset === undefined ? undefined : this.reading.locate(this.#offset);
    this.reading.problems.push({
      source: this.reading.source,
      line: place?.line,
      column: place?.column,
      field: this.field,
      message,
    });
    return undefined;
  }

  /** Adds a problem: the value is not what was expected. */
  expected(what: string): undefined {
    const written =
      typeof this.#step === 'string' && this.#step !== this.name ? ` (written ${this.#step})` : '';
    return this.refuse(`${this.name}${written} is ${describeNode(this.node)}; expected ${what}.`);
  }

  /** Adds a problem: the document says `edictum/v1` but uses an addition of `quittance/v1`. */
  refuseAddition(what: string): undefined {
    return this.refuse(
      `${what} is an addition of quittance/v1, and this document says edictum/v1. Write apiVersion: ` +
        'quittance/v1, or let `quittance contracts upgrade` do it.',
    );
  }

  /** An object of this shape. Keys that only `quittance/v1` has are refused in `edictum/v1`. */
  shaped(shape: ObjectShape, olderWords: OlderWords = noOlderWords): ClosedObject<string> | undefined {
    return this.closed(keysOf(shape), olderWords, this.reading.isPublic === true ? shape.added : undefined);
  }

  /** An object with these keys and no others. `refused`: keys that this version of the language lacks. */
  closed<Key extends string>(
    allKeys: readonly Key[],
    olderWords: OlderWords = noOlderWords,
    refused: readonly string[] = [],
  ): ClosedObject<Key> | undefined {
    const keys = refused.length === 0 ? allKeys : allKeys.filter((key) => !refused.includes(key));
    if (this.node.type !== 'map') return this.expected(`an object with ${listWords(keys)}`);
    const found = new Map<string, DocumentReader>();
    for (const entry of this.node.entries) {
      const name = Object.hasOwn(olderWords, entry.key) ? (olderWords[entry.key] ?? entry.key) : entry.key;
      const member = this.#member(entry, name);
      const earlier = found.get(name);
      const isRefused = refused.includes(name);
      if (isRefused) this.#keyOf(entry).refuseAddition(quote(entry.key));
      if (!isRefused && !(keys as readonly string[]).includes(name)) this.#refuseKey(entry, keys);
      else if (earlier === undefined) found.set(name, member);
      else
        this.#keyOf(entry).refuse(
          `${quote(entry.key)} and ${quote(earlier.#written)} are two spellings of ${name}; keep one of them.`,
        );
    }
    return new ClosedObject(this, found);
  }

  /** The members of an object whose keys the author chooses. */
  members(expectation = 'an object'): readonly DocumentMember[] | undefined {
    if (this.node.type !== 'map') return this.expected(expectation);
    return this.node.entries.map((entry) => ({
      key: entry.key,
      keyAt: this.#keyOf(entry),
      value: this.#member(entry, entry.key),
    }));
  }

  items(least = 0, what = 'values'): readonly DocumentReader[] | undefined {
    const wanted = `a list of ${what}${least > 0 ? `, at least ${least}` : ''}`;
    if (this.node.type !== 'list') return this.expected(wanted);
    if (this.node.items.length < least) return this.expected(wanted);
    return this.node.items.map(
      (item, step) =>
        new DocumentReader(item, this.reading, { parent: this, step, name: `${this.name}[${step}]` }),
    );
  }

  text({ least = 1, most, pattern, patternWords }: TextLimits = {}): string | undefined {
    const { node } = this;
    if (node.type !== 'scalar' || typeof node.value !== 'string')
      return this.expected(isQuotable(node) ? 'text: put it in quotes' : 'text');
    const { value } = node;
    // Characters are only counted if there may be too many.
    const length = most !== undefined && value.length > most ? Array.from(value).length : value.length;
    if (length < least)
      return this.expected(least === 1 ? 'text that is not empty' : `at least ${least} characters`);
    if (most !== undefined && length > most)
      return this.refuse(`${this.name} is ${length} characters long; expected at most ${most}.`);
    if (pattern !== undefined && !pattern.test(value)) return this.expected(patternWords ?? String(pattern));
    return value;
  }

  oneOf<Word extends string>(
    words: readonly Word[],
    olderWords: Readonly<Record<string, Word>> = {},
  ): Word | undefined {
    const value = this.node.type === 'scalar' ? this.node.value : undefined;
    if (typeof value === 'string') {
      const word = words.find((each) => each === value);
      if (word !== undefined) return word;
      const older = Object.hasOwn(olderWords, value) ? olderWords[value] : undefined;
      if (older !== undefined && words.includes(older)) return older;
    }
    return this.expected(listWords(words, 'or'));
  }

  integer({ least, most }: { readonly least: number; readonly most?: number }): number | undefined {
    const value = this.node.type === 'scalar' ? this.node.value : undefined;
    if (Number.isInteger(value) && typeof value === 'number')
      if (value >= least && value <= (most ?? Number.MAX_SAFE_INTEGER)) return value;
    return this.expected(
      `a whole number ${most === undefined ? `of ${least} or more` : `from ${least} to ${most}`}`,
    );
  }

  number(): number | undefined {
    const value = this.node.type === 'scalar' ? this.node.value : undefined;
    return typeof value === 'number' ? value : this.expected('a number');
  }

  flag(): boolean | undefined {
    const value = this.node.type === 'scalar' ? this.node.value : undefined;
    return typeof value === 'boolean' ? value : this.expected('true or false');
  }

  /** A list of texts, none empty. If some are invalid, the valid ones. */
  texts(least = 0): readonly string[] | undefined {
    return this.items(least, 'texts')?.flatMap((item) => item.text() ?? []);
  }

  /** An object with any content. */
  object(): JsonObject | undefined {
    const value = this.json();
    return isJsonObject(value) ? value : this.expected('an object');
  }

  json(): JsonValue {
    return jsonFromNode(this.node);
  }

  get #written(): string {
    return String(this.#step ?? this.name);
  }

  #member(entry: DocumentEntry, name: string): DocumentReader {
    return new DocumentReader(entry.value, this.reading, { parent: this, step: entry.key, name });
  }

  #keyOf({ key, keyOffset, value }: DocumentEntry): DocumentReader {
    return new DocumentReader(value, this.reading, { parent: this, step: key, name: key, offset: keyOffset });
  }

  #refuseKey(entry: DocumentEntry, keys: readonly string[]): void {
    const [nearest] = nearestNames(entry.key, keys, 1);
    const mergeKey = entry.key === '<<' ? ' Merge keys are not part of YAML 1.2.' : '';
    const meant = nearest === undefined ? '' : ` Did you mean ${nearest}?`;
    this.#keyOf(entry).refuse(
      `Unknown field ${quote(entry.key)} in ${this.name}.${mergeKey}${meant} Known fields: ${keys.join(', ')}.`,
    );
  }
}

/** A member of an object, with a reader for problems with its name. */
export type DocumentMember = {
  readonly key: string;
  readonly keyAt: DocumentReader;
  readonly value: DocumentReader;
};

/** An object whose keys were checked. */
export class ClosedObject<Key extends string> {
  readonly at: DocumentReader;
  readonly #found: ReadonlyMap<string, DocumentReader>;

  constructor(at: DocumentReader, found: ReadonlyMap<string, DocumentReader>) {
    this.at = at;
    this.#found = found;
  }

  has(key: Key): boolean {
    return this.#found.has(key);
  }

  optional(key: Key): DocumentReader | undefined {
    return this.#found.get(key);
  }

  required(key: Key): DocumentReader | undefined {
    return this.#found.get(key) ?? this.at.refuse(`${key} is missing: ${this.at.name} requires it.`);
  }

  /** A field that `edictum/v1` requires and `quittance/v1` does not. */
  relaxed(key: Key): DocumentReader | undefined {
    const found = this.#found.get(key);
    if (found === undefined && this.at.reading.isPublic === true)
      this.at.refuse(
        `${key} is missing: ${this.at.name} requires it in edictum/v1. To leave it out, write apiVersion: ` +
          'quittance/v1, or let `quittance contracts upgrade` do it.',
      );
    return found;
  }
}
