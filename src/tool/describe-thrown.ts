import { cutText } from './cut-text.ts';

/** What somebody threw, in one line of bounded length. Never throws itself, whatever it is given. */
export function describeThrown(cause: unknown): string {
  try {
    const text = cause instanceof Error ? cause.message || cause.name : String(cause);
    return cutText(text, 1_000);
  } catch {
    return `something of type ${typeof cause}`;
  }
}
