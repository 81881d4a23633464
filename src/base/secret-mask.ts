import type { SecretPattern } from './secret-pattern.ts';
import { secretHint, secretPatterns, shortestSecret } from './secret-patterns.ts';

/** What stands in the place of something hidden. */
export const redacted = '[REDACTED]';

/** Texts settle after one pass; more are needed only by patterns that match what another left. */
const mostPasses = 5;

type Finder = { readonly pattern: RegExp; readonly confirm: ((secret: string) => boolean) | undefined };
type Span = [start: number, end: number];

/**
 * Builds the function that hides in a text what patterns find: the built-in ones if `defaults`, and those in
 * `added`. Masking a masked text again changes nothing.
 */
export function createTextMask(defaults: boolean, added: readonly SecretPattern[]): (text: string) => string {
  const knownFinders = secretPatterns.map(toFinder);
  const addedFinders = added.map(toFinder);

  const hasHint = (text: string): boolean =>
    defaults && text.length >= shortestSecret && secretHint.test(text);

  return (text) => {
    if (addedFinders.length === 0 && !hasHint(text)) return text;
    let masked = text;
    for (let pass = 0; pass < mostPasses; pass++) {
      const spans: Span[] = [];
      for (const finder of addedFinders) findSpans(finder, masked, spans);
      if (hasHint(masked)) for (const finder of knownFinders) findSpans(finder, masked, spans);
      const next = spans.length === 0 ? masked : cutOut(masked, spans);
      if (next === masked) return masked;
      masked = next;
    }
    return redacted;
  };
}

/** Our own copy: a host's pattern may be sticky, or in use elsewhere with a position of its own. */
function toFinder({ pattern, confirm }: SecretPattern): Finder {
  const flags = new Set(pattern.flags).add('g');
  flags.delete('y');
  if (pattern.source.includes('(?<secret>')) flags.add('d');
  return { pattern: new RegExp(pattern.source, [...flags].join('')), confirm };
}

function findSpans({ pattern, confirm }: Finder, text: string, spans: Span[]): void {
  pattern.lastIndex = 0;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const [start, end] = match.indices?.groups?.['secret'] ?? [match.index, match.index + match[0].length];
    const isConfirmed = confirm === undefined || confirm(text.slice(start, end));
    if (isConfirmed && start < end) spans.push([start, end]);
    if (!isConfirmed || match[0] === '') pattern.lastIndex = match.index + 1;
  }
}

/** Replaces the spans. One that touches the inside of an earlier mask takes all of it, so that no half is left. */
function cutOut(text: string, spans: Span[]): string {
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
