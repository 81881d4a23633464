/**
 * Parses YAML text to a tree of JSON values with positions. Only this file uses the package `yaml`.
 *
 * 1. YAML 1.2 with its core schema: `no` is text, `<<` is an ordinary key, tags outside the schema are rejected.
 * 2. The output is what was written: duplicate keys, integers too large for a number and values without a JSON form
 *    are problems.
 * 3. The tree is bounded: it is nested at most `deepest` levels, and aliases may expand it to at most `mostNodes`.
 */
import type { CST, Document, Node, Pair, Scalar } from 'yaml';
import { Composer, isAlias, isMap, isScalar, isSeq, Parser } from 'yaml';
import type { JsonPrimitive } from '../../base/json.ts';
import { quote } from '../../base/nearest.ts';
import type { DocumentEntry, DocumentNode } from './document-node.ts';
import type { DocumentReading } from './document-reading.ts';
import { DocumentReader } from './document-reader.ts';

const deepest = 512;
const mostNodes = 500_000;
/** More would add nothing: everything after an unclosed quote is wrong. */
const mostSyntaxProblems = 20;

/** Reads one document. Undefined if the text is not one; then there are problems. */
export function readYamlDocument(text: string, reading: DocumentReading): DocumentNode | undefined {
  const tokens = [...new Parser().parse(text)];
  const tooDeep = findTooDeep(tokens);
  if (tooDeep !== undefined)
    return refuseAt(reading, tooDeep, `The document is nested too deep: more than ${deepest} levels.`);
  const composer = new Composer({ schema: 'core', resolveKnownTags: false, uniqueKeys: false });
  const [document, second] = composer.compose(tokens, true, text.length);
  if (document === undefined) return refuseAt(reading, 0, 'The document is empty.');
  if (second !== undefined)
    return refuseAt(
      reading,
      second.range[0],
      'A second document begins here. Use one file per document and load the files together: each has ' +
        'its own name and version.',
    );
  if (refuseSyntax(document, reading)) return undefined;
  const before = reading.problems.length;
  const node = new TreeBuilder(reading).build(document.contents);
  return reading.problems.length === before ? node : undefined;
}

/** True if the text is not YAML, or not supported YAML. */
function refuseSyntax(document: Document, reading: DocumentReading): boolean {
  const { errors, warnings, directives } = document;
  // One error often causes the ones after it, so only the first is reported.
  const [first] = errors.toSorted((one, other) => one.pos[0] - other.pos[0]);
  if (first !== undefined)
    refuseAt(reading, first.pos[0], `This is not valid YAML: ${endSentence(first.message)}`);
  // The package only warns about unknown tags and directives, but the value would not be what the author meant.
  if (errors.length === 0)
    for (const { pos, message } of warnings.slice(0, mostSyntaxProblems))
      refuseAt(reading, pos[0], `This YAML is not supported: ${endSentence(message)}`);
  const { version } = directives?.yaml ?? {};
  if (version !== undefined && version !== '1.2')
    refuseAt(reading, 0, `The document says that it is YAML ${version}; expected YAML 1.2.`);
  return reading.problems.length > 0;
}

const endSentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

function refuseAt(reading: DocumentReading, offset: number, message: string): undefined {
  return new DocumentReader({ type: 'scalar', value: null, offset }, reading).refuse(message);
}

/** The position at which the nesting passes the limit. Found before any recursion. */
function findTooDeep(tokens: readonly CST.Token[]): number | undefined {
  const rest: [token: CST.Token, depth: number][] = tokens.map((token) => [token, 0]);
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const [token, depth] = next;
    if (depth > deepest) return token.offset;
    if (token.type === 'document' && token.value !== undefined) rest.push([token.value, depth]);
    if (!('items' in token)) continue;
    for (const { key, value } of token.items) {
      if (key) rest.push([key, depth + 1]);
      if (value) rest.push([value, depth + 1]);
    }
  }
  return undefined;
}

/** One walk over a document that parsed. */
class TreeBuilder {
  readonly #reading: DocumentReading;
  readonly #anchors = new Map<string, Node>();
  /** The nodes around an alias, to detect an alias that contains itself. */
  readonly #open = new Set<Node>();
  #depth = 0;
  #nodes = 0;

  constructor(reading: DocumentReading) {
    this.#reading = reading;
  }

  build(node: unknown): DocumentNode | undefined {
    const offset = offsetOf(node);
    if (++this.#nodes > mostNodes || this.#depth > deepest) {
      // Reported once: everything after this would be rejected for the same reason.
      if (this.#nodes !== Number.POSITIVE_INFINITY)
        refuseAt(this.#reading, offset, 'The document is too large once its aliases are written out.');
      this.#nodes = Number.POSITIVE_INFINITY;
      return undefined;
    }
    if (isAlias(node)) return this.#follow(node.source, offset);
    if (node === null || node === undefined) return { type: 'scalar', value: null, offset };
    if ((isMap(node) || isSeq(node) || isScalar(node)) && node.anchor !== undefined)
      this.#anchors.set(node.anchor, node);
    if (isScalar(node)) return this.#scalar(node, offset);
    if (!isMap(node) && !isSeq(node)) return this.#refuse(offset, 'This is not a value.');
    this.#open.add(node);
    this.#depth++;
    const built = isMap(node)
      ? ({ type: 'map', entries: this.#entries(node.items), offset } as const)
      : ({ type: 'list', items: node.items.flatMap((item) => this.build(item) ?? []), offset } as const);
    this.#depth--;
    this.#open.delete(node);
    return built;
  }

  #follow(name: string, offset: number): DocumentNode | undefined {
    const target = this.#anchors.get(name);
    if (target === undefined)
      return this.#refuse(offset, `No anchor named ${quote(name)} comes before this.`);
    if (this.#open.has(target)) return this.#refuse(offset, `The alias ${quote(name)} contains itself.`);
    const built = this.build(target);
    // A problem with the value is reported at this position.
    return built === undefined ? undefined : { ...built, offset };
  }

  #entries(pairs: readonly Pair[]): readonly DocumentEntry[] {
    const seen = new Set<string>();
    return pairs.flatMap((pair) => {
      const keyOffset = offsetOf(pair.key);
      const key = this.#key(pair.key, keyOffset);
      // `{a, b}` has keys without values.
      const value: DocumentNode | undefined =
        pair.value === null ? { type: 'scalar', value: null, offset: keyOffset } : this.build(pair.value);
      if (key === undefined || value === undefined) return [];
      if (seen.has(key)) {
        this.#refuse(keyOffset, `The key ${quote(key)} appears twice in the same object.`);
        return [];
      }
      seen.add(key);
      return [{ key, keyOffset, value }];
    });
  }

  /** A number or boolean as a key is read as written: keys are names. */
  #key(node: unknown, offset: number): string | undefined {
    if (isScalar(node) && node.value !== null) {
      if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
      return typeof node.value === 'string' ? node.value : (node.source ?? JSON.stringify(node.value));
    }
    return this.#refuse(offset, 'A key must be text.');
  }

  #scalar({ value, source }: Scalar, offset: number): DocumentNode | undefined {
    const problem = refuseScalar(value, source);
    if (problem !== undefined) return this.#refuse(offset, problem);
    // All other scalars were rejected above.
    return { type: 'scalar', value: (Object.is(value, -0) ? 0 : value) as JsonPrimitive, offset };
  }

  #refuse(offset: number, message: string): undefined {
    return refuseAt(this.#reading, offset, message);
  }
}

function refuseScalar(value: unknown, source: string | undefined): string | undefined {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined;
  if (typeof value !== 'number') return 'This is not text, a number, true, false or null.';
  const written = quote(source ?? String(value));
  if (!Number.isFinite(value))
    return `${written} is not a number that can be compared; expected a finite one.`;
  if (
    Number.isInteger(value) &&
    !Number.isSafeInteger(value) &&
    source !== undefined &&
    /^[-+\dxoa-fA-F]+$/.test(source)
  )
    return `${written} is larger than a number can hold exactly; put it in quotes.`;
  return undefined;
}

function offsetOf(node: unknown): number {
  const range = isScalar(node) || isMap(node) || isSeq(node) || isAlias(node) ? node.range : undefined;
  return range?.[0] ?? 0;
}
