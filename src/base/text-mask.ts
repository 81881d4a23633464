import { commandHint, secretsInCommand } from './command-secrets.ts';
import type { SecretPattern, CharacterSpan } from './secret-pattern.ts';
import { secretHint, secretPatterns, shortestSecret } from './secret-patterns.ts';

/** Replaces a hidden value. */
export const redacted = '[REDACTED]';

/** Texts settle after one pass; more are needed only if a pattern matches what another left. */
const mostPasses = 5;

/** A text that was encoded more often is hidden as a whole. */
const deepestEncoding = 4;

/** Program names are lower case; the hint of patterns ignores case. */
const programHint = new RegExp(commandHint);

/** A checked text is searched to its end at once, so masks can share these. */
const knownFinders = secretPatterns.map(toFinder);

type Finder = { readonly pattern: RegExp; readonly confirm: ((secret: string) => boolean) | undefined };
/** Hides the matches of patterns in a text, and adds them to `found`. */
export type TextMask = (text: string, found?: Set<string>) => string;

/**
 * Creates the function that hides matches of patterns in a text: the built-in patterns if `defaults`, and those in
 * `added`. A command line is read as a shell would read it. Masking a masked text again changes nothing.
 */
export function createTextMask(
  defaults: boolean,
  added: readonly SecretPattern[],
  { isCommand = false }: { readonly isCommand?: boolean } = {},
): TextMask {
  const addedFinders = added.map(toFinder);

  const hasHint = (text: string): boolean =>
    defaults && text.length >= shortestSecret && (secretHint.test(text) || programHint.test(text));

  /** Parts of URLs and forms whose decoded text contains a secret. A value is hidden without its name if possible. */
  const findEncoded = (text: string, depth: number, found: Set<string> | undefined): CharacterSpan[] => {
    const hides = (part: string): boolean =>
      part.includes('%') &&
      decodings(part).some((decoded) => decoded !== part && mask(decoded, found, depth + 1) !== decoded);
    return [...text.matchAll(formPart)].flatMap(({ 0: part, index }): CharacterSpan[] => {
      if (!percentEscape.test(part)) return [];
      const valueAt = part.indexOf('=') + 1;
      const isNamePlain = !percentEscape.test(part.slice(0, valueAt));
      const isHidden = (isNamePlain && hides(part.slice(valueAt))) || hides(part);
      return isHidden ? [[index + (isNamePlain ? valueAt : 0), index + part.length]] : [];
    });
  };

  const mask = (text: string, found: Set<string> | undefined, depth: number): string => {
    const isEncoded = defaults && percentEscape.test(text);
    if (addedFinders.length === 0 && !isEncoded && !hasHint(text) && !(isCommand && defaults)) return text;
    if (isEncoded && depth > deepestEncoding) return redacted;
    let masked = text;
    for (let pass = 0; pass < mostPasses; pass++) {
      const spans: CharacterSpan[] = [];
      for (const finder of addedFinders) findSpans(finder, masked, spans);
      if (hasHint(masked)) for (const finder of knownFinders) findSpans(finder, masked, spans);
      if (defaults) spans.push(...secretsInCommand(masked, isCommand));
      if (isEncoded) spans.push(...findEncoded(masked, depth, found));
      if (found !== undefined) for (const span of spans) noteSecret(masked, span, found);
      const next = spans.length === 0 ? masked : cutOut(masked, spans);
      if (next === masked) return masked;
      masked = next;
    }
    found?.add(text);
    return redacted;
  };
  return (text, found) => mask(text, found, 0);
}

const percentEscape = /%[0-9A-Fa-f]{2}/;
/** A part of a URL or a form: `name=value` between separators. */
const formPart = /[^\s"'`<>&?#;,]+/g;

/** The decoded text. In a form a plus is a space, in a path it is a plus. */
function decodings(part: string): readonly string[] {
  const decoded = part.replaceAll(/(?:%[0-9A-Fa-f]{2})+/g, decodeRun);
  return part.includes('+') ? [decoded, decodings(part.replaceAll('+', ' '))[0] ?? decoded] : [decoded];
}

function decodeRun(run: string): string {
  try {
    return decodeURIComponent(run);
  } catch {
    return String.fromCharCode(
      ...(run.match(/[0-9A-Fa-f]{2}/g) ?? []).map((hex) => Number.parseInt(hex, 16)),
    );
  }
}

/** A later pass may find a secret around an earlier mask; the mask is not part of it. */
function noteSecret(text: string, [start, end]: CharacterSpan, found: Set<string>): void {
  for (const part of text.slice(start, end).split(redacted)) if (part !== '') found.add(part);
}

/** A copy, because a host's pattern may be sticky, or in use elsewhere with its own position. */
function toFinder({ pattern, confirm }: SecretPattern): Finder {
  const flags = new Set(pattern.flags).add('g');
  flags.delete('y');
  if (pattern.source.includes('(?<secret>')) flags.add('d');
  return { pattern: new RegExp(pattern.source, [...flags].join('')), confirm };
}

function findSpans({ pattern, confirm }: Finder, text: string, spans: CharacterSpan[]): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [start, end] = match.indices?.groups?.['secret'] ?? [match.index, match.index + match[0].length];
    const isConfirmed = confirm === undefined || confirm(text.slice(start, end));
    if (isConfirmed && start < end) spans.push([start, end]);
    if (!isConfirmed || match[0] === '') pattern.lastIndex = match.index + 1;
  }
}

/** Replaces the spans. A span that touches an earlier mask covers all of it, so that no half is left. */
export function cutOut(text: string, spans: CharacterSpan[]): string {
  for (let at = text.indexOf(redacted); at !== -1; at = text.indexOf(redacted, at + redacted.length))
    spans.push([at, at + redacted.length]);
  spans.sort(([left], [right]) => left - right);
  let result = '';
  let done = 0;
  for (const [start, end] of spans) {
    if (start >= done) result += text.slice(done, start) + redacted;
    done = Math.max(done, end);
  }
  return result + text.slice(done);
}
